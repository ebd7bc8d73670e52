"""Lines of a message, wrapped at 72 columns."""

from __future__ import annotations

import unicodedata

MAX_COLUMNS = 72


def columns(text: str) -> int:
    """The columns that a text takes on a terminal; East Asian characters take two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def bullet(text: str) -> list[str]:
    """A list item, wrapped; a word that is longer than a line stays whole unless it is wide."""
    lines: list[str] = []
    current, is_first = "- ", True
    for word in _words(text):
        glue = "" if is_first or not word.startswith(" ") else " "
        word = word.lstrip(" ")
        if not is_first and columns(current + glue + word) > MAX_COLUMNS:
            lines.append(current)
            current = "  " + word
        else:
            current += glue + word
        is_first = False
    return [*lines, current]


def _words(text: str) -> list[str]:
    """Where a line may break: before a space, and between wide characters."""
    words: list[str] = []
    for char in text:
        wide = unicodedata.east_asian_width(char) in "WF" and char not in "，。、；：！？）」』】》"
        after_wide = bool(words) and unicodedata.east_asian_width(words[-1][-1]) in "WF"
        if (
            char == " "
            or not words
            or (words[-1] != " " and (wide or (after_wide and char.isalnum())))
        ):
            words.append(char)
        else:
            words[-1] += char
    return words
