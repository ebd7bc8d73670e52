"""`vedette pr`: title and description of a pull request."""

from __future__ import annotations

from typing import Literal

from vedette.cli.change import (
    answer_one,
    is_rows,
    only_one,
    read_diff,
    repository_here,
    wording_of,
)
from vedette.cli.job import JobOptions, PathOrStdin, check_paths, run_job
from vedette.errors import InputError


def pr(
    *paths: PathOrStdin,
    range: str | None = None,
    style: Literal["conventional", "plain"] = "plain",
    types: str | None = None,
    scope: str = "auto",
    breaking: bool = False,
    language: str | None = None,
    instructions: str = "",
    max_read_tokens: int | None = None,
    options: JobOptions | None = None,
) -> int:
    """Write title and description of a pull request; no file is named that the diff does not have.

    Parameters
    ----------
    paths
        A diff file, or - for stdin; or files of rows (.jsonl, .csv, .parquet) with a diff in
        each. Without any, what HEAD has beyond the main branch of the repository here.
    range
        The diff over A...B from where they part, or over A..B.
    style
        The title as one plain sentence, or as a Conventional Commits header.
    types
        The types to choose from: a list with commas, or a file with `name: description` lines.
    scope
        auto (the folder that the files share), none, or a name.
    breaking
        Mark the header with !.
    language
        A code or a name in English; by default that of the repository's last 10 subjects.
    instructions
        A sentence more for the model.
    max_read_tokens
        The most of a change that is read (3000); what is left out is counted.
    """
    from vedette.git.repository import Repository
    from vedette.tasks.commit.pull_request import WritePullRequest

    options = options or JobOptions()
    check_paths(paths, pr)
    only_one({"files": bool(paths), "--range": range is not None})
    task = WritePullRequest(
        wording=wording_of(
            repository_here(),
            style=style,
            types=types,
            scope=scope,
            breaking=breaking,
            language=language,
            instructions=instructions,
            max_read_tokens=max_read_tokens,
        )
    )
    if is_rows(paths, options):
        return run_job(task, paths, options)
    if len(paths) > 1:
        raise InputError("give one diff, or files of rows")
    if paths:
        text = read_diff(paths[0])
    else:
        repository = Repository()
        span = repository.since_main() if range is None else repository.span(range)
        text = repository.between(span)
    if not text.strip():
        raise InputError("the diff is empty", hint="give --range or a diff")
    return answer_one(task, text, options, lambda value: str(value["markdown"]))
