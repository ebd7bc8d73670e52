"""Sets of code points: inclusive ranges, sorted and apart.

A model's text is valid UTF-8 without NUL (llama.cpp ends a token's text there), so these sets
never hold NUL, surrogates or numbers beyond Unicode, whatever a class spells out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import TypeAlias

from .ast import AnyChar, CharClass

Ranges: TypeAlias = tuple[tuple[int, int], ...]

TEXT: Ranges = ((0x1, 0xD7FF), (0xE000, 0x10FFFF))


def chars_of(item: CharClass | AnyChar) -> Ranges:
    """The characters that a class or `.` matches; a range with its ends reversed adds none."""
    if isinstance(item, AnyChar):
        return TEXT
    listed = merged(item.ranges)
    return intersection(TEXT, inverse(listed) if item.negated else listed)


def is_text(code_point: int) -> bool:
    """Whether a text can hold this code point."""
    return any(low <= code_point <= high for low, high in TEXT)


def merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The same set with its ranges sorted and apart."""
    result: list[tuple[int, int]] = []
    for low, high in sorted(pair for pair in ranges if pair[0] <= pair[1]):
        if result and low <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(high, result[-1][1]))
        else:
            result.append((low, high))
    return tuple(result)


def inverse(ranges: Ranges) -> Ranges:
    """Every code point of Unicode that is not in the set."""
    result: list[tuple[int, int]] = []
    start = 0
    for low, high in ranges:
        if low > start:
            result.append((start, low - 1))
        start = high + 1
    return (*result, (start, 0x10FFFF)) if start <= 0x10FFFF else tuple(result)


def intersection(left: Ranges, right: Ranges) -> Ranges:
    """What both sets hold."""
    pairs = ((max(a, c), min(b, d)) for a, b in left for c, d in right)
    return tuple(pair for pair in pairs if pair[0] <= pair[1])


def pattern_of(ranges: Ranges) -> str:
    """A regular expression for one character of the set."""
    ends = ((spelt(low), spelt(high)) for low, high in ranges)
    return "[" + "".join(low if low == high else f"{low}-{high}" for low, high in ends) + "]"


def spelt(code_point: int) -> str:
    """One character in a regular expression."""
    char = chr(code_point)
    return char if char.isascii() and char.isalnum() else f"\\u{{{code_point:X}}}"


class Alphabet:
    """Code points in as few classes as tell the given sets apart; a set is then a bit mask."""

    def __init__(self, sets: Iterable[Ranges]) -> None:
        starts = {0}
        for ranges in sets:
            for low, high in ranges:
                starts.update((low, high + 1))
        self._starts = sorted(starts)
        self._index = {start: index for index, start in enumerate(self._starts)}

    def mask(self, ranges: Ranges) -> int:
        """The set as a bit mask over the classes; it must be one of those given."""
        mask = 0
        for low, high in ranges:
            mask |= (1 << self._index[high + 1]) - (1 << self._index[low])
        return mask

    def mask_of(self, code_point: int) -> int:
        """The class of any one code point."""
        return 1 << (bisect_right(self._starts, code_point) - 1)
