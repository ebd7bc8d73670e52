"""Sentences in a simple cipher: letters shifted by a constant, mirrored (Atbash), or in reverse.

What is hidden so is found by the words that such orders need, enciphered in every such way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from string import ascii_lowercase as LETTERS

_MARKS = ("instructions", "previous", "password", "disregard", "guidelines")
_REVERSE = -1
_ATBASH = 0


def _tables() -> dict[int, dict[int, int]]:
    keys = {shift: LETTERS[shift:] + LETTERS[:shift] for shift in range(1, 26)}
    keys[_ATBASH] = LETTERS[::-1]
    plain = LETTERS + LETTERS.upper()
    return {how: str.maketrans(plain, key + key.upper()) for how, key in keys.items()}


_TABLES = _tables()
# Each mark as it looks in cipher -> what takes the cipher off.
_CIPHERED: dict[str, int] = {
    **{mark.translate(_TABLES[how]): (-how) % 26 for mark in _MARKS for how in range(1, 26)},
    **{mark.translate(_TABLES[_ATBASH]): _ATBASH for mark in _MARKS},
    **{mark[::-1]: _REVERSE for mark in _MARKS},
}
_FIND = re.compile(rf"\b(?:{'|'.join(_CIPHERED)})\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[\n<>]")


def ciphered(text: str) -> Iterator[tuple[int, int, str]]:
    """`(start, end, plain text)` of each sentence that has an enciphered mark, once."""
    seen = -1
    for match in _FIND.finditer(text):
        if match.start() < seen:
            continue
        start, seen = _sentence(text, *match.span())
        take_off = _taker(_CIPHERED[match.group().lower()])
        yield start, seen, take_off(text[start:seen])


def _taker(how: int) -> Callable[[str], str]:
    if how == _REVERSE:
        return lambda text: text[::-1]
    return lambda text: text.translate(_TABLES[how])


def _sentence(text: str, start: int, end: int) -> tuple[int, int]:
    """The sentence around a stretch; in reverse its mark stands in front."""
    before = [found.end() for found in _SENTENCE_END.finditer(text, 0, start)]
    after = _SENTENCE_END.search(text, end)
    first = before[-1] if before else 0
    first += len(text[first:start]) - len(text[first:start].lstrip())
    return first, (after.start() if after else len(text))
