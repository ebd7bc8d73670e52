"""`vedette changelog`: a part of a changelog from commits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from vedette.cli.change import (
    check_for_one,
    is_rows,
    only_one,
    print_prompt,
    write_out,
)
from vedette.cli.console import note
from vedette.cli.job import (
    JobOptions,
    PathOrStdin,
    check_paths,
    open_backend,
    run_job,
    settings_of,
)
from vedette.errors import InputError

if TYPE_CHECKING:
    from vedette.git.repository import Commit
    from vedette.tasks.commit.entry import WriteEntry
    from vedette.tasks.commit.release_notes import ReleaseNotes

TELL_EVERY = 25  # commits


def changelog(
    *paths: PathOrStdin,
    range: str | None = None,
    title: str = "[Unreleased]",
    internal: bool = False,
    reword: bool = False,
    options: JobOptions | None = None,
) -> int:
    """Put commits under the headings of Keep a Changelog, each entry with its hashes.

    Parameters
    ----------
    paths
        Files of rows (.jsonl, .csv, .parquet) with a commit's message in each: one result line for
        each row. Without any, the commits of the repository here.
    range
        The commits of A..B; by default those since the last tag.
    title
        The heading of the whole.
    internal
        List what users do not notice, too: tests, documentation, builds.
    reword
        Have the model write each entry for users; names and numbers must be kept.
    """
    from vedette.git.repository import Repository
    from vedette.tasks.commit.entry import WriteEntry

    options = options or JobOptions()
    check_paths(paths, changelog)
    only_one({"files": bool(paths), "--range": range is not None})
    if not title.strip():
        raise InputError("--title is empty")
    task = WriteEntry(reword=reword)
    if paths or is_rows(paths, options):
        if not is_rows(paths, options):
            raise InputError("give files of rows: .jsonl, .csv or .parquet, or --format")
        if internal or title != "[Unreleased]":
            raise InputError("--internal and --title are about a repository, not about rows")
        return run_job(task, paths, options)
    check_for_one(options)
    repository = Repository()
    span = repository.since_last_tag() if range is None else repository.span(range)
    commits, merges = repository.commits(span)
    if not commits:
        raise InputError("there is no commit in the range", hint="give another --range")
    notes = _notes(task, commits, options, title=title, internal=internal)
    if notes is None:
        return 0
    told = [f"merge commits, not listed: {merges}"] if merges else []
    if n_hidden := sum(len(entry.commits) for entry in notes.not_listed):
        told.append(f"not noticed by users, not listed without --internal: {n_hidden}")
    for line in told:
        note(line, quiet=options.quiet)
    body = {**notes.as_json(), "merges": merges}
    write_out(cast(dict[str, Any], body) if options.json else notes.markdown, options.out)
    return 0


def _notes(
    task: WriteEntry,
    commits: tuple[Commit, ...],
    options: JobOptions,
    *,
    title: str,
    internal: bool,
) -> ReleaseNotes | None:
    """The commits as entries; the model is loaded only if one of them needs it."""
    from vedette.batch.answers import answers
    from vedette.errors import VedetteError
    from vedette.tasks.commit.entry import known_entry
    from vedette.tasks.commit.release_notes import entry_of, release_notes
    from vedette.types import Item

    known = {} if task.reword else {c.hash: known_entry(c.message) for c in commits}
    items = [
        Item(id=c.hash, text=c.message)
        for c in commits
        if known.get(c.hash) is None and c.message.strip()
    ]
    values: dict[str, Any] = {name: value for name, value in known.items() if value is not None}
    if items:
        backend = open_backend(settings_of(options), quiet=options.quiet)
        try:
            if options.show_prompt:
                print_prompt(task, items[0], backend)
                return None
            for done, (item, outcome) in enumerate(answers(items, task, backend), start=1):
                if isinstance(outcome, VedetteError):
                    raise InputError(f"commit {item.id[:7]}: {outcome.message}", hint=outcome.hint)
                values[item.id] = outcome.value
                if done % TELL_EVERY == 0:
                    note(f"{done} of {len(items)} commits asked about", quiet=options.quiet)
                for change in cast(dict[str, Any], outcome.value)["changes"]:
                    note(f"{item.id[:7]}: {change}", quiet=options.quiet)
        finally:
            backend.close()
    elif options.show_prompt:
        raise InputError("every commit says its heading itself, so there is no prompt to show")
    entries = [entry_of(c.hash, values[c.hash]) for c in commits if c.hash in values]
    return release_notes(entries, title, internal=internal)
