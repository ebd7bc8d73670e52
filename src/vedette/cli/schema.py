"""`vedette schema`: what becomes of each keyword of a JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclopts import App

from vedette.cli.console import note, print_json, print_table
from vedette.cli.job import read_text
from vedette.errors import InputError
from vedette.schema_report import SchemaReport

if TYPE_CHECKING:
    from vedette.types import SchemaOptions

app = App(name="schema", help="Look a JSON Schema through before it is used.")

EXIT_REFUSED = 2


@app.command
def check(
    file: str,
    *,
    strict: bool = False,
    formats: bool = True,
    refs: tuple[str, ...] = (),
    json: bool = False,
) -> int:
    """Say keyword by keyword what is enforced, narrowed, checked afterwards or refused.

    Exit code 2 for a schema that cannot be used.

    Parameters
    ----------
    file
        A file with a JSON Schema (drafts 4 to 2020-12).
    strict
        Refuse what can only be checked on the finished answer.
    formats
        Take `format` as a promise; --formats=false takes it as a note.
    refs
        Files that remote references may mean, as URI=FILE; nothing is fetched.
    json
        One JSON object, for machines.
    """
    import orjson

    from vedette.engine.constraint.json_schema import schema_report
    from vedette.engine.constraint.schema import SchemaRefused
    from vedette.types import SchemaOptions

    text = read_text(file, "schema")
    try:
        body = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InputError(f"{file} is not JSON: {error.msg} (line {error.lineno})") from error
    options = SchemaOptions(strict=strict, formats=formats, files=tuple(map(_named_file, refs)))
    try:
        report, problem = schema_report(body, options), None
    except SchemaRefused as error:
        report, problem = error.report, str(error)
    if json:
        print_json({**report.as_dict(), "usable": problem is None, "problem": problem})
    else:
        _print(report, problem)
    return EXIT_REFUSED if problem else 0


def read_schema(path: str, options: SchemaOptions | None = None) -> dict[str, Any]:
    """The schema in a file; its keywords without effect are pointed out.

    Raises `FileError` for a file that cannot be read, `SchemaError` for a schema that cannot be
    used.
    """
    from vedette.engine.constraint.json_schema import parse_schema

    body = parse_schema(read_text(path, "schema"))
    warn_of(body, options)
    return body


def warn_of(
    schema: Mapping[str, Any], options: SchemaOptions | None = None, *, where: str = ""
) -> None:
    """Point out the keywords that have no effect, a line each on stderr."""
    from vedette.engine.constraint.json_schema import schema_report
    from vedette.types import SchemaOptions

    for entry in schema_report(schema, options or SchemaOptions()).unknown:
        note(f"warning: {where}at {entry.pointer or 'the root'}: {entry.keyword}: {entry.reason}")


def _named_file(text: str) -> tuple[str, str]:
    uri, equals, path = text.partition("=")
    if not equals:
        raise InputError(f"--refs {text!r} is not URI=FILE")
    return uri, read_text(str(Path(path)), "schema")


def _print(report: SchemaReport, problem: str | None) -> None:
    rows: list[tuple[str, str, str, str]] = [
        (entry.verdict, entry.pointer or "/", entry.keyword, entry.reason)
        for entry in report.keywords
    ]
    rows += [
        ("no effect", entry.pointer or "/", entry.keyword, entry.reason) for entry in report.unknown
    ]
    print_table(("verdict", "at", "keyword", "why"), rows)
    for bound in report.bounds:
        note(f"bound: {bound}")
    if problem:
        note(f"refused: {problem}")
    elif report.exact:
        note("everything is enforced while the answer is written")
    else:
        note("what is checked is held against the finished answer; one that fails is an error")
