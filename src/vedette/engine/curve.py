"""How long a step takes by the number of its tokens: T(n)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from vedette.errors import InputError

WORTH_PADDING = 0.95
"""A larger step must take less than this share of the time, so that noise pads nothing."""


@dataclass(frozen=True, slots=True)
class CostCurve:
    """Measured seconds of a step of n tokens, and what lies between the measured sizes.

    The curve is not monotone: kernels work in blocks, and 4 tokens can cost less than 3. Between
    two measured sizes it is a straight line; past the last one it goes on as the mean cost of a
    token there.
    """

    points: tuple[tuple[int, float], ...]

    def __post_init__(self) -> None:
        sizes = [n for n, _ in self.points]
        if not sizes or sizes[0] != 1 or any(b <= a for a, b in pairwise(sizes)):
            raise InputError(f"a cost curve needs growing sizes from 1 on, not {sizes}")
        if any(seconds <= 0 for _, seconds in self.points):
            raise InputError("a cost curve needs a time above 0 for each size")

    @classmethod
    def of(cls, seconds: Mapping[int, float]) -> CostCurve:
        """The curve through these measurements, seconds by tokens. Raises `InputError`."""
        return cls(tuple(sorted(seconds.items())))

    def seconds(self, n: int) -> float:
        """How long a step of n tokens takes, n >= 1."""
        sizes = [size for size, _ in self.points]
        i = bisect_left(sizes, n)
        if i == len(sizes):
            last, seconds = self.points[-1]
            return seconds * n / last
        size, seconds = self.points[i]
        if size == n:
            return seconds
        before, less = self.points[i - 1]
        return less + (seconds - less) * (n - before) / (size - before)

    def padded(self, n: int) -> int:
        """The size of at least n tokens whose step is the fastest, by `WORTH_PADDING`; else n."""
        larger = [(seconds, size) for size, seconds in self.points if size > n]
        seconds, size = min(larger, default=(float("inf"), n))
        return size if seconds < WORTH_PADDING * self.seconds(n) else n

    def relative(self, n: int) -> float:
        """v(n) = T(n) / T(1)."""
        return self.seconds(n) / self.seconds(1)
