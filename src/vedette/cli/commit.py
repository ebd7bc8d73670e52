"""`vedette commit`: a commit message from what is staged, or from a diff."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from vedette.cli.change import (
    answer_one,
    check_for_one,
    is_rows,
    only_one,
    read_diff,
    repository_here,
    wording_of,
)
from vedette.cli.console import note
from vedette.cli.job import JobOptions, PathOrStdin, check_paths, run_job
from vedette.errors import InputError


def commit(
    *paths: PathOrStdin,
    range: str | None = None,
    rev: str | None = None,
    style: Literal["conventional", "plain"] = "conventional",
    types: str | None = None,
    scope: str = "auto",
    breaking: bool = False,
    body: Literal["auto", "none", "bullets"] = "auto",
    language: str | None = None,
    instructions: str = "",
    max_read_tokens: int | None = None,
    hook: Literal["install", "uninstall"] | None = None,
    options: JobOptions | None = None,
) -> int:
    """Write the message of a commit, in which no file is named that the diff does not have.

    Parameters
    ----------
    paths
        A diff file, or - for stdin; or files of rows (.jsonl, .csv, .parquet) with a diff in
        each. Without any, what is staged in the repository here.
    range
        The diff over A..B, or over A...B from where they part.
    rev
        The diff of one commit.
    style
        A Conventional Commits header, or one plain sentence.
    types
        The types to choose from: a list with commas, or a file with `name: description` lines.
    scope
        auto (the folder that the files share), none, or a name.
    breaking
        Mark the header with !.
    body
        auto has a list where the change is read in several parts; none; bullets always.
    language
        A code or a name in English; by default that of the repository's last 10 subjects.
    instructions
        A sentence more for the model.
    max_read_tokens
        The most of a change that is read (3000); what is left out is counted.
    hook
        Install (with the other options given), or uninstall, a prepare-commit-msg hook here.
    """
    from vedette.tasks.commit.message import WriteCommit

    options = options or JobOptions()
    check_paths(paths, commit)
    given = {"files": bool(paths), "--range": range is not None, "--rev": rev is not None}
    only_one({**given, "--hook": hook is not None})
    repository = repository_here()
    task = WriteCommit(
        wording=wording_of(
            repository,
            style=style,
            types=types,
            scope=scope,
            breaking=breaking,
            language=language,
            instructions=instructions,
            max_read_tokens=max_read_tokens,
        ),
        body=body,
    )
    if hook is not None:
        values: dict[str, object] = {
            "style": style,
            "types": types,
            "scope": scope,
            "breaking": breaking,
            "body": body,
            "language": language,
            "instructions": instructions,
            "max-read-tokens": max_read_tokens,
        }
        return _change_hook(hook, values, options)
    if is_rows(paths, options):
        return run_job(task, paths, options)
    if len(paths) > 1:
        raise InputError("give one diff, or files of rows")
    text = read_diff(paths[0]) if paths else _diff_here(range, rev)
    if not text.strip():
        raise InputError("the diff is empty")
    return answer_one(task, text, options, lambda value: str(value["message"]))


def _diff_here(range: str | None, rev: str | None) -> str:
    """The diff that git gives. Raises `InputError` where nothing is staged."""
    from vedette.git.repository import Repository

    repository = Repository()
    if range is not None:
        return repository.between(repository.span(range))
    if rev is not None:
        return repository.of_commit(rev)
    text = repository.staged()
    if not text.strip():
        raise InputError(
            "nothing is staged", hint="use git add first, or give --rev, --range or a diff"
        )
    return text


def _change_hook(
    what: Literal["install", "uninstall"], values: dict[str, object], options: JobOptions
) -> int:
    from vedette.backends.personas import parse_personas
    from vedette.git.hook import install, uninstall
    from vedette.git.repository import Repository

    check_for_one(options)
    if options.out != "-" or options.json or options.show_prompt:
        raise InputError("--out, --json and --show-prompt do not go with --hook")
    repository = Repository()
    if what == "uninstall":
        note(f"taken away: {uninstall(repository)}", quiet=options.quiet)
        return 0
    defaults = {"style": "conventional", "scope": "auto", "body": "auto", "instructions": ""}
    settings = ("model", "backend", "width", "threads", "offline")
    chosen = {**values, **{name: getattr(options, name) for name in settings}}
    chosen |= {name: _from_anywhere(chosen[name]) for name in ("types", "model")}
    arguments = [
        f"--{name}" if value is True else f"--{name}={value}"
        for name, value in chosen.items()
        if value not in (None, False) and value != defaults.get(name)
    ]
    arguments += [
        f"--lora={one.name}={one.path.absolute()}:{one.scale}"
        for one in parse_personas(",".join(options.lora))
    ]
    arguments += ["--quiet"] if options.quiet else []
    note(f"installed: {install(repository, arguments)}", quiet=options.quiet)
    return 0


def _from_anywhere(value: object) -> object:
    """A file by its whole path, as git calls a hook from the top of the repository."""
    if isinstance(value, str) and Path(value).is_file():
        return str(Path(value).absolute())
    return value
