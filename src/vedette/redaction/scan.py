"""A text with what several rules need of it, worked out once and only where it is needed."""

from __future__ import annotations

import re
from functools import cached_property

from .fold import INVISIBLE, fold, lower

# A stretch of at least seven digits with what people write between them; the numbers that rules
# look at lie in these. Dates and dotted addresses are taken first, and so are none of them. It
# begins with a plain set of characters, which lets the search skip what is not in it.
_RUN = re.compile(
    rf"""
    [+(0-9] (?<! [A-Za-z0-9_][+(0-9] ) (?<! [0-9]:[0-9] )
    (?:
        (?<=[12]) [90][0-9]{{2}} ([-/.]) (?:0?[1-9]|1[0-2]) \1 (?:0?[1-9]|[12][0-9]|3[01]) (?![0-9])
      | (?<=[0-9]) [0-9]? ([-/.]) [01]?[0-9] \2 (?:19|20)?[0-9]{{2}} (?! [0-9] | [-/.][0-9] )
      | (?<=[0-9]) [0-9]{{0,2}} (?:\.[0-9]{{1,3}}){{3}} (?! [0-9] | [-.][0-9] )
      | (?P<run> (?: [ \-.()/{INVISIBLE}]{{0,3}} [0-9] ){{6,}} )
    )
    """,
    re.VERBOSE,
)
# Where a code of capital letters and digits may begin: both are among its first nine characters.
_CODE = re.compile(r"[A-Z](?<![A-Za-z0-9_][A-Z])(?=[A-Z -]{0,8}[0-9])(?=[A-Z0-9 -]{8})")
_GROUP = re.compile("[0-9]+")
_DECIMAL = re.compile(r"\(?[0-9]{1,4}\.[0-9]+")
# A number does not begin in the middle of a longer one, of a word, or after a decimal point.
_INSIDE = re.compile(r"(?:[A-Za-z0-9_]|[A-Za-z0-9][-.])\Z")


class Scan:
    """A text that rules look at. `text`, `folded` and `lowered` are equally long."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.folded = fold(text)

    @cached_property
    def lowered(self) -> str:
        """The folded text in small letters."""
        return lower(self.folded)

    @cached_property
    def runs(self) -> list[tuple[int, int]]:
        """Where numbers of seven digits and more stand, with their separators, `+` and `(`."""
        text = self.folded
        found = (match.span() for match in _RUN.finditer(text) if match["run"] is not None)
        return [run for run in found if not _DECIMAL.fullmatch(text, *run)]

    @cached_property
    def codes(self) -> list[int]:
        """Where a code of capital letters and digits may begin."""
        return [found.start() for found in _CODE.finditer(self.folded)]

    def starts(self, least_digits: int) -> list[int]:
        """Where a number of that many digits may begin: at a group with enough of them to come."""
        if least_digits not in self._starts:
            self._starts[least_digits] = [
                first for first, left in self._groups if left >= least_digits
            ]
        return self._starts[least_digits]

    @cached_property
    def _starts(self) -> dict[int, list[int]]:
        return {}

    @cached_property
    def _groups(self) -> list[tuple[int, int]]:
        """Each group of digits in a run at which a number may begin; digits from there on."""
        text = self.folded
        found = []
        for start, end in self.runs:
            groups = [group.span() for group in _GROUP.finditer(text, start, end)]
            left = sum(last - first for first, last in groups)
            for first, last in groups:
                if not _INSIDE.search(text, max(0, first - 2), first):
                    found.append((first, left))
                left -= last - first
        return found
