"""A prediction with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Range:
    """A likely value, and between which two 80% are expected."""

    low: float
    likely: float
    high: float

    def times(self, other: Range) -> Range:
        """The product of two that are independent, by the squares of their logarithms."""
        likely = self.likely * other.likely
        down = _together(self.low / self.likely, other.low / other.likely)
        up = _together(self.high / self.likely, other.high / other.likely)
        return Range(likely / down, likely, likely * up)


def _together(a: float, b: float) -> float:
    return math.exp(math.hypot(math.log(a), math.log(b)))
