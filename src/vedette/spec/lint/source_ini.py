"""Presets of llama-server's router: an INI section is a model, its keys are flags."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .words import Command, Edit, Span, Word, line_below

_SECTION = re.compile(r"[ \t]*\[([^\]\n]+)\]")
_PAIR = re.compile(r"[ \t]*([^\s=;#\[][^=\n]*?)[ \t]*=[ \t]*([^\n]*?)[ \t\r]*(?=\n|$)")
_COMMON = "*"


class IniLayout:
    """`key = value` lines; a key is a flag without its dashes."""

    def __init__(self, text: str) -> None:
        self._text = text

    def spell_name(self, name: str) -> str:
        """A flag as it is written here."""
        return name.lstrip("-")

    def spell_value(self, value: str) -> str:
        """A value as it is written here."""
        return value

    def after(self, word: Word, name: str | None, values: Sequence[str]) -> Edit:
        """A line more, below the one of a word."""
        line = f"{self.spell_name(name or '')} = {' '.join(values) or 'true'}"
        return line_below(self._text, word.span.end, line)


def ini_commands(text: str) -> list[Command]:
    """Each section as a command; what stands under `[*]` holds for the others too."""
    layout = IniLayout(text)
    sections: list[tuple[str, int, list[Word]]] = []
    at = 0
    for line in text.splitlines(keepends=True):
        section, pair = _SECTION.match(line), _PAIR.match(line)
        if section:
            sections.append((section[1], at, []))
        elif pair and sections:
            sections[-1][2].extend(_words(pair, at, len(line), layout))
        at += len(line)
    common = tuple(word for name, _, words in sections if name == _COMMON for word in words)
    return [
        Command(
            None,
            tuple(words),
            (),
            Span(start, max(word.span.end for word in words)),
            grouped=True,
            title=name,
            inherited=() if name == _COMMON else common,
            partial=name == _COMMON,
        )
        for name, start, words in sections
        if words
    ]


def _words(pair: re.Match[str], at: int, length: int, layout: IniLayout) -> tuple[Word, Word]:
    key = pair[1]
    name = key if re.match(r"-|LLAMA_ARG_", key) else f"--{key}"
    line = Span(at, at + length)
    return (
        Word(Span(at + pair.start(1), at + pair.end(1)), name, line, layout),
        Word(Span(at + pair.start(2), at + pair.end(2)), pair[2], Span(at, at), layout),
    )
