"""A command as words that know their place in the text, and how words are spelled there.

The kinds of text (shell, INI, compose, systemd) differ only in how words are found and spelled.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Characters `start` to `end` (exclusive) of the text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Put `text` in the place of `span`; an insertion has an empty one."""

    span: Span
    text: str


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """The text after all edits; equal ones count once. Only deletions may overlap (ValueError)."""
    pieces, at, deleted = [], 0, False
    for edit in sorted(set(edits)):
        if edit.span.start < at and not (deleted and not edit.text):
            raise ValueError("edits overlap")
        pieces += [text[at : edit.span.start], edit.text]
        at, deleted = max(at, edit.span.end), not edit.text
    return "".join([*pieces, text[at:]])


def line_below(text: str, at: int, content: str) -> Edit:
    """Put a line, or several, below the one that `at` is in, with the text's own line ends."""
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    newline = "\n"
    if text[:end].endswith("\r"):
        end, newline = end - 1, "\r\n"
    lines = "".join(f"{newline}{line}" for line in content.split("\n"))
    return Edit(Span(end, end), lines)


class Layout(Protocol):
    """How words are written in one kind of text."""

    def spell_name(self, name: str) -> str:
        """A flag as it is written here."""

    def spell_value(self, value: str) -> str:
        """A value as it is written here, quoted where it must be."""

    def after(self, word: Word, name: str | None, values: Sequence[str]) -> Edit:
        """Put a flag (or only values) after a word."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word: its place, its value, and what to cut to be rid of it.

    `dynamic`: it holds a variable, so that its value is not known; `opaque`: it is nothing but
    one, and may become several words. `shared`: it stands in a variable that others may use too.
    """

    span: Span
    value: str
    removal: Span
    layout: Layout
    dynamic: bool = False
    opaque: bool = False
    shared: bool = False


@dataclass(slots=True)
class EnvEntry:
    """One variable that is set for the command; `name`, `value` and `removed` change in mending.

    `value_span` is None where the value is not written plainly, and so cannot be changed in place.
    """

    written: str
    value: str
    name_span: Span
    removal: Span
    dynamic: bool = False
    value_span: Span | None = None
    name: str = ""
    written_value: str = ""
    removed: bool = False
    looked_at: bool = False

    def __post_init__(self) -> None:
        self.name = self.name or self.written
        self.written_value = self.value

    def edits(self) -> list[Edit]:
        """What mending has changed."""
        if self.removed:
            return [Edit(self.removal, "")]
        edits = [Edit(self.name_span, self.name)] if self.name != self.written else []
        if self.value_span is not None and self.value != self.written_value:
            edits.append(Edit(self.value_span, self.value))
        return edits


class EnvLayout(Protocol):
    """Where a command that has no words takes another variable."""

    def add(self, name: str, value: str) -> Edit:
        """Set one more."""


@dataclass(frozen=True, slots=True)
class Command:
    """One call of a llama-server.

    `program` as written, None where only arguments stand (a compose service, an INI section).
    `span` is what is shown as the command. `grouped`: words come in pairs of key and value.
    `inherited`: such pairs that hold here and stand elsewhere. `partial`: it is only what others
    inherit, so what it lacks is not missed.
    """

    program: Word | None
    words: tuple[Word, ...]
    env: tuple[EnvEntry, ...]
    span: Span
    grouped: bool = False
    env_layout: EnvLayout | None = None
    title: str = ""
    inherited: tuple[Word, ...] = ()
    partial: bool = False


class InlineLayout:
    """Words on a line with blanks between, quoted as a shell reads them."""

    def spell_name(self, name: str) -> str:
        """A flag as it is written here."""
        return name

    def spell_value(self, value: str) -> str:
        """A value as it is written here, quoted where it must be."""
        return shlex.quote(value)

    def after(self, word: Word, name: str | None, values: Sequence[str]) -> Edit:
        """Put a flag (or only values) after a word."""
        spelled = [*([name] if name else []), *map(self.spell_value, values)]
        return Edit(Span(word.span.end, word.span.end), "".join(f" {each}" for each in spelled))
