"""From a text to findings and the mended text."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path, PurePath
from typing import Literal, TypeAlias

from vedette.errors import FileError, InputError

from .case import Case, Places
from .check_company import check_company
from .check_defaults import check_defaults
from .check_files import check_files
from .check_names import check_names
from .check_types import check_types
from .check_values import check_values
from .finding import CommandReport, Finding, Mended
from .options import Reading, option_edits, read_options
from .source_compose import compose_commands
from .source_ini import ini_commands
from .source_shell import shell_commands
from .source_systemd import systemd_commands
from .target import Wish, target_of
from .words import Command, Edit, Span, apply_edits

Kind: TypeAlias = Literal["command", "shell", "ini", "compose", "systemd"]
_SUFFIXES: dict[str, Kind] = {
    ".ini": "ini",
    ".yml": "compose",
    ".yaml": "compose",
    ".service": "systemd",
    ".sh": "shell",
    ".bash": "shell",
}
_SEVERITIES = ("error", "silent", "warning")
_MOST_BYTES = 16 << 20
_ANSI_TEXT = re.compile(r"\$'(?:\\.|[^'\\])*'", re.DOTALL)  # $'...', where \' ends nothing


def lint_command(command: str, wish: Wish | None = None, *, keep_behaviour: bool = False) -> Mended:
    """Look at one command line, or at the arguments of one.

    Raises `InputError` if no llama-server is called in it.
    """
    return lint_text(command, "command", wish, keep_behaviour=keep_behaviour)


def lint_file(path: Path, wish: Wish | None = None, *, keep_behaviour: bool = False) -> Mended:
    """Look at a file; its kind is told from its name, else from what it holds.

    Raises `FileError` if it cannot be read, `InputError` if it calls no llama-server.
    """
    text = read_text(path)
    return lint_text(
        text, kind_of(text, path.name), wish, file=str(path), keep_behaviour=keep_behaviour
    )


def read_text(path: Path) -> str:
    """A whole file, line ends as they are. Raises `FileError`."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise FileError(f"{path} is too large for a script or a settings file")
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not UTF-8 text") from error


def kind_of(text: str, name: str = "") -> Kind:
    """What kind of text it is."""
    known = _SUFFIXES.get(PurePath(name).suffix.lower())
    if known:
        return known
    if re.search(r"^\[Service\]\s*$", text, re.MULTILINE):
        return "systemd"
    if re.search(r"^services:\s*$", text, re.MULTILINE):
        return "compose"
    first = next((line for line in text.splitlines() if line.strip(" \t;#")), "")
    if re.match(r"\s*\[[^\]]+\]\s*$", first) or re.match(r"version\s*=\s*\d", first):
        return "ini"
    return "shell"


def lint_text(
    text: str,
    kind: Kind,
    wish: Wish | None = None,
    *,
    file: str = "",
    keep_behaviour: bool = False,
) -> Mended:
    """Look at a text of a known kind. Raises `InputError` if no llama-server is called in it."""
    commands = _commands(text, kind)
    if not commands:
        raise InputError(
            f"{file or 'the command line'} calls no llama-server",
            hint="give 'llama-server ...', its arguments, or a file that starts one",
        )
    cases = [_examined(text, file, each, wish or Wish(), keep_behaviour) for each in commands]
    edits = _agreed_edits(cases)
    reports = tuple(_report(text, edits, case) for case in cases)
    return Mended(apply_edits(text, edits), _in_order(cases), reports)


def _agreed_edits(cases: list[Case]) -> list[Edit]:
    """All edits. Where commands share words (a variable) and want different things of them, the
    first one has its way, and the findings of the other are left to the user.
    """
    agreed: list[Edit] = []
    for case in cases:
        wanted = list(dict.fromkeys(_edits(case)))
        pairs = [*combinations(wanted, 2), *product(wanted, agreed)]
        if any(_clash(left, right) for left, right in pairs):
            case.findings = [replace(each, mended=False) for each in case.findings]
        else:
            agreed += [edit for edit in wanted if edit not in agreed]
    return sorted(agreed)


def _clash(left: Edit, right: Edit) -> bool:
    """Whether two edits cannot both be made; two deletions always can."""
    a, b = left.span, right.span
    if left == right or not (left.text or right.text):
        return False
    within = a.start < b.start < a.end or b.start < a.start < b.end
    return a == b or within or max(a.start, b.start) < min(a.end, b.end)


def _commands(text: str, kind: Kind) -> list[Command]:
    if kind == "command":
        _check_quotes(text)
        return shell_commands(text, alone=True)
    if kind == "shell":
        return shell_commands(text)
    if kind == "ini":
        return ini_commands(text)
    return compose_commands(text) if kind == "compose" else systemd_commands(text)


def _check_quotes(text: str) -> None:
    """Raise `InputError` for a command line in which a shell would look for a quote's end.

    In a script it may be an apostrophe of something that is no command.
    """
    try:
        shlex.split(_ANSI_TEXT.sub("", text), comments=True)
    except ValueError as error:
        raise InputError(
            "the command line cannot be read: a quote or backslash at its end is left open",
            hint="close it",
        ) from error


def _examined(text: str, file: str, command: Command, wish: Wish, keep_behaviour: bool) -> Case:
    target = target_of(command, wish)
    reading = read_options(command, target.table)
    case = Case(command, target, reading, Places(text, file), keep_behaviour)
    for check in (
        check_types,
        check_names,
        check_values,
        check_defaults,
        check_company,
        check_files,
    ):
        check(case)
    return case


def _edits(case: Case) -> list[Edit]:
    entries = [edit for entry in case.command.env for edit in entry.edits()]
    return [*option_edits(case.options, case.command), *entries, *case.extra_edits]


def _in_order(cases: list[Case]) -> tuple[Finding, ...]:
    found = {finding for case in cases for finding in case.findings}
    return tuple(sorted(found, key=_rank))


def _rank(finding: Finding) -> tuple[int, int, int, str]:
    place = finding.place
    return place.line, place.column, _SEVERITIES.index(finding.severity), finding.code


def _report(text: str, edits: list[Edit], case: Case) -> CommandReport:
    span = case.command.span
    inside = [each for each in edits if span.start <= each.span.start and each.span.end <= span.end]
    local = [
        Edit(Span(each.span.start - span.start, each.span.end - span.start), each.text)
        for each in inside
    ]
    before = text[span.start : span.end]
    left = [each for each in case.findings if each.severity == "error" and not each.mended]
    judged_by = case.target.table.title
    if case.target.note:
        judged_by += f" (its own help is not known: {case.target.note})"
    return CommandReport(
        place=case.places.of(span),
        before=before,
        after=apply_edits(before, local),
        arguments=tuple(_arguments(case.reading, case)),
        environment=(
            *((each.name, each.value) for each in case.command.env if not each.removed),
            *case.extra_variables,
        ),
        complete=not left,
        judged_by=judged_by,
    )


def _arguments(reading: Reading, case: Case) -> list[str]:
    """The words after the program once all is mended, added options where they are added."""
    words: list[str] = []
    anchored = [each for each in reading.options if each.word is None and not each.removed]
    for option in reading.options:
        if option.word is None or option.removed or option.inherited:
            continue
        words += [option.name, *option.values]
    for option in anchored:
        words += [option.name, *option.values]
    return [*words, *(each.value for each in (*reading.strays, *reading.opaque))]
