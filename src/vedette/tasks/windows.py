"""A text that is longer than a small model can use, cut into overlapping windows."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from vedette.backends.base import Backend
from vedette.errors import InputTooLong

LEAST_WINDOW_TOKENS = 16

# Where to cut, best first: between paragraphs, lines, sentences, words; then anywhere.
_CUTS = (
    re.compile(r"\n\s*\n"),
    re.compile(r"\n"),
    re.compile(r"[.!?。！？]\s*"),
    re.compile(r"\s"),
)


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of the text: `text == whole[start:start + len(text)]`."""

    start: int
    text: str


def useful_tokens(wanted: int, backend: Backend) -> int:
    """`wanted` tokens, or what the model was found to be good for where that is less."""
    found = backend.capabilities.useful_tokens
    return wanted if found is None else min(wanted, max(found, LEAST_WINDOW_TOKENS))


def windows(
    text: str, count_tokens: Callable[[str], int], *, limit_tokens: int, overlap_tokens: int
) -> list[Window]:
    """Cover the text with windows of at most `limit_tokens`; every character is in one.

    Raises `InputTooLong` when `limit_tokens` is below `LEAST_WINDOW_TOKENS`.
    """
    if limit_tokens < LEAST_WINDOW_TOKENS:
        raise InputTooLong(f"only {limit_tokens} tokens are left for the text")
    found: list[Window] = []
    start = 0
    while start < len(text):
        end = _reach(text, start, count_tokens, limit_tokens)
        if end < len(text):
            end = _nicest_cut(text, start, end)
        found.append(Window(start, text[start:end]))
        if end >= len(text):
            break
        back = _overlap_chars(text, start, end, count_tokens, overlap_tokens)
        start = max(start + 1, end - back)
    return found


def opening(text: str, count_tokens: Callable[[str], int], *, limit_tokens: int) -> Window:
    """As much of the beginning as fits, in whole words where there are spaces."""
    end = _reach(text, 0, count_tokens, limit_tokens)
    if end < len(text) and not text[end].isspace():
        end = max((space.end() for space in re.finditer(r"\s", text[:end])), default=end)
    return Window(0, text[:end])


def _reach(text: str, start: int, count_tokens: Callable[[str], int], limit_tokens: int) -> int:
    """The furthest end whose window fits, by doubling and halving."""
    low, high = start + 1, min(len(text), start + 6 * limit_tokens)
    if count_tokens(text[start:high]) <= limit_tokens:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if count_tokens(text[start:middle]) <= limit_tokens:
            low = middle
        else:
            high = middle
    return low


def _nicest_cut(text: str, start: int, end: int) -> int:
    """The last good place to cut in the final quarter of the window."""
    earliest = start + (end - start) * 3 // 4
    for pattern in _CUTS:
        places = [match.end() for match in pattern.finditer(text, earliest, end)]
        if places:
            return places[-1]
    return end


def _overlap_chars(
    text: str, start: int, end: int, count_tokens: Callable[[str], int], overlap_tokens: int
) -> int:
    total = max(1, count_tokens(text[start:end]))
    return min((end - start) // 2, (end - start) * overlap_tokens // total)
