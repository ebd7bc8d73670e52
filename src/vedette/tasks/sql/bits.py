"""What the 64 bits of a rule's parameter mean, and how conditions on them are written."""

from __future__ import annotations

from dataclasses import dataclass

MAX_SOURCES = 22
MAX_ITEMS = 6
STAR = 7
"""In place of the number of items: `*`."""

WANTED = {"number": 1, "text": 2, "date": 3, "boolean": 4, "any": 0, "opaque": 7}
"""A kind as it stands in `Bits.wanted`; 0 is any."""


@dataclass(frozen=True, slots=True)
class Bits:
    """The layout for `n` sources: a bit each for needed and in, then flags and small numbers."""

    n: int

    def needed(self, source: int) -> int:
        """Bit: the select list names this source, and the FROM has not brought it in yet."""
        return source

    def present(self, source: int) -> int:
        """Bit: the FROM has it."""
        return self.n + source

    @property
    def needs(self) -> str:
        """All `needed` bits."""
        return f"[0:{self.n}]"

    @property
    def presents(self) -> str:
        """All `present` bits."""
        return f"[{self.n}:{2 * self.n}]"

    @property
    def alone(self) -> int:
        """Bit: a bare name has settled that the FROM is one table."""
        return 2 * self.n

    @property
    def grouped(self) -> int:
        """Bit: there is a GROUP BY."""
        return 2 * self.n + 1

    @property
    def last(self) -> int:
        """Bit: the right side of a UNION, which has no ORDER BY of its own."""
        return 2 * self.n + 2

    @property
    def single(self) -> int:
        """Bit: a subquery that must be one row at most. It is `last`'s: those have no UNION."""
        return self.last

    @property
    def aggregated(self) -> int:
        """Bit: an item is an aggregate."""
        return 2 * self.n + 3

    @property
    def distinct(self) -> int:
        """Bit: SELECT DISTINCT."""
        return 2 * self.n + 4

    @property
    def opaque(self) -> int:
        """Bit: an item is of a kind that cannot be grouped or compared, or is `*`."""
        return 2 * self.n + 5

    def _field(self, at: int, width: int) -> str:
        return f"[{2 * self.n + at}:{2 * self.n + at + width}]"

    @property
    def count(self) -> str:
        """Number of items: 0 while it is free, set from the start where it is not."""
        return self._field(6, 3)

    @property
    def depth(self) -> str:
        """How many subqueries deep."""
        return self._field(9, 2)

    @property
    def wanted(self) -> str:
        """Kind that the first item must have; once it is written, the one that it has."""
        return self._field(11, 3)

    def plain(self, item: int) -> int:
        """Bit: item (from 1) is no aggregate."""
        return 2 * self.n + 13 + item

    @property
    def plains(self) -> str:
        """All `plain` bits."""
        return self._field(14, MAX_ITEMS)

    def value(self, *bits: int, count: int = 0, depth: int = 0, wanted: int = 0) -> str:
        """A parameter with these bits and numbers set."""
        base = 2 * self.n
        number = sum(1 << bit for bit in set(bits))
        number |= count << base + 6 | depth << base + 9 | wanted << base + 11
        return hex(number)


def all_of(*conditions: str) -> str:
    """The conditions that are not empty, all of them; empty if none is."""
    return _nested("and", conditions)


def any_of(*conditions: str) -> str:
    """One of the conditions at least."""
    return _nested("or", conditions)


def _nested(word: str, conditions: tuple[str, ...]) -> str:
    given = [condition for condition in conditions if condition]
    if not given:
        return ""
    whole = given[-1]
    for condition in reversed(given[:-1]):
        whole = f"{word}({condition}, {whole})"
    return whole
