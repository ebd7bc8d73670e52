"""What a look at a command line finds, and what is left when it is mended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

# error: the server does not start, or does not load. silent: it starts and ignores it.
# warning: it works, and is likely not what is meant.
Severity: TypeAlias = Literal["error", "silent", "warning"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where: the file ("" for a command line that was given as one) and line, both from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file or 'command'}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong. `code` is for machines, `remedy` says what to do.

    `mended` says whether the mended text does it already.
    """

    code: str
    severity: Severity
    place: Place
    message: str
    remedy: str
    mended: bool


@dataclass(frozen=True, slots=True)
class CommandReport:
    """One llama-server command: as it stands and mended.

    `arguments` are the words after the program, as the server gets them after mending; shell
    variables stand as they are written. `environment` is what is set for it in the same text.
    `complete` says that no error is left, so a server of the build that was asked takes it.
    `judged_by` says whose flags it was held against.
    """

    place: Place
    before: str
    after: str
    arguments: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    complete: bool
    judged_by: str


@dataclass(frozen=True, slots=True)
class Mended:
    """A whole text after mending; where nothing is wrong, `text` is what was given."""

    text: str
    findings: tuple[Finding, ...]
    commands: tuple[CommandReport, ...]
