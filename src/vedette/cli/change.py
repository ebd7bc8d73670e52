"""What commit, pr and changelog share: where a change comes from, and one answer on the screen."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from vedette.cli.console import note, print_json
from vedette.cli.job import JobOptions, open_backend, settings_of
from vedette.errors import FileError, InputError

if TYPE_CHECKING:
    from vedette.backends.base import Backend
    from vedette.git.repository import Repository
    from vedette.tasks.base import Task
    from vedette.tasks.commit.language import Language
    from vedette.tasks.commit.wording import Wording
    from vedette.types import Answer

_ROWS = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".pq")
_FOR_ONE = {
    *("model", "backend", "lora", "out", "width", "threads", "offline", "show_prompt", "json"),
    "quiet",
}


def is_rows(paths: Sequence[str], options: JobOptions) -> bool:
    """Whether the input is rows, each with a diff or a message, and not one diff."""
    if options.format != "auto":
        return True
    return any(path.removesuffix(".gz").endswith(_ROWS) for path in paths)


def check_for_one(options: JobOptions) -> None:
    """Find what is wrong with the options where there is one answer, before a model is loaded.

    Raises `InputError` for those that are about rows, `FileError` for an output that cannot be
    written.
    """
    from vedette.batch.outputs import check_output

    plain = JobOptions()
    for field in fields(JobOptions):
        name = field.name
        if name not in _FOR_ONE and getattr(options, name) != getattr(plain, name):
            raise InputError(
                f"--{name.replace('_', '-')} is about rows",
                hint="give a file of rows: .jsonl, .csv or .parquet, or --format",
            )
    check_output(options.out)


def read_diff(path: str) -> str:
    """The text of a diff file, or of stdin. Bytes that are no UTF-8 become U+FFFD."""
    try:
        raw = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise FileError(f"cannot read the diff {path}: {error.strerror}") from error
    return raw.decode("utf-8", "replace")


def only_one(given: dict[str, bool]) -> None:
    """Raises `InputError` where several sources of a change are named."""
    named = [name for name, is_given in given.items() if is_given]
    if len(named) > 1:
        raise InputError(f"give only one of {' and '.join(named)}")


def repository_here() -> Repository | None:
    """The repository of the working directory, where there is one that can be read.

    For hints from its history only: what needs a repository opens it itself, and says why not.
    """
    from vedette.git.repository import Repository

    try:
        return Repository()
    except InputError:
        return None


def wording_of(
    repository: Repository | None,
    *,
    style: Literal["conventional", "plain"],
    types: str | None,
    scope: str,
    breaking: bool,
    language: str | None,
    instructions: str,
    max_read_tokens: int | None,
) -> Wording:
    """The options of commit and pr; language and scopes from the history, unless they are given."""
    from vedette.tasks.commit.change_types import default_types
    from vedette.tasks.commit.header import parse_header
    from vedette.tasks.commit.wording import READ_TOKENS, Wording
    from vedette.tasks.labels import read_labels

    subjects = repository.recent_subjects() if repository else ()
    headers = filter(None, map(parse_header, subjects))
    scopes = dict.fromkeys(header.scope for header in headers if header.scope)
    return Wording(
        style=style,
        types=read_labels(types) if types is not None else default_types(),
        scope=scope,
        known_scopes=tuple(scopes),
        breaking=breaking,
        language=_language(language, subjects),
        instructions=instructions,
        max_read_tokens=READ_TOKENS if max_read_tokens is None else max_read_tokens,
    )


def _language(given: str | None, subjects: Sequence[str]) -> Language:
    from vedette.tasks.commit.language import language_of, language_of_subjects

    return language_of(given) if given is not None else language_of_subjects(subjects)


def answer_one(
    task: Task, text: str, options: JobOptions, show: Callable[[dict[str, Any]], str]
) -> int:
    """Print the answer to one change: as `show` puts it, or with --json all its parts."""
    from vedette.batch.single import answer_item
    from vedette.types import Item

    check_for_one(options)
    item = Item(id="1", text=text)
    backend = open_backend(settings_of(options), quiet=options.quiet)
    try:
        if options.show_prompt:
            print_prompt(task, item, backend)
            return 0
        answer = answer_item(task, item, backend)
    finally:
        backend.close()
    value = cast(dict[str, Any], answer.value)
    for line in told(answer):
        note(line, quiet=options.quiet)
    write_out(value if options.json else show(value), options.out)
    return 0


def print_prompt(task: Task, item: Any, backend: Backend) -> None:
    """The first prompt, as the model reads it."""
    requests = next(task.steps(item, backend))
    sys.stdout.write(backend.show_prompt(requests[0]) + "\n")


def told(answer: Answer) -> list[str]:
    """What a person should know beside the text: what was not read, what was changed."""
    value = cast(dict[str, Any], answer.value)
    read = value["read"]
    lines = []
    if unread := read["unread"]:
        listed = ", ".join(f"{entry['path']} ({entry['why']})" for entry in unread[:8])
        more = f" and {len(unread) - 8} more" if len(unread) > 8 else ""
        lines.append(f"not read: {listed}{more}")
    if left_out := read["left_out"]:
        n_lines = sum(entry["lines"] for entry in left_out)
        lines.append(
            f"left out by --max-read-tokens: {n_lines} changed lines of {len(left_out)} "
            f"{'files' if len(left_out) > 1 else 'file'}"
        )
    return [*lines, *value["changes"]]


def write_out(content: str | dict[str, Any], out: str) -> None:
    """A text, or an object as JSON, to stdout or to a file."""
    import orjson

    if out == "-":
        if isinstance(content, str):
            sys.stdout.write(content.rstrip("\n") + "\n")
        else:
            print_json(content)
        return
    is_text = isinstance(content, str)
    text = content if is_text else orjson.dumps(content, option=orjson.OPT_INDENT_2).decode()
    try:
        Path(out).write_text(cast(str, text).rstrip("\n") + "\n", "utf-8")
    except OSError as error:
        raise FileError(f"cannot write {out}: {error.strerror}") from error
