"""Ways to choose some of many, listed only where they are few."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import TypeVar

T = TypeVar("T")

_MAX_CHOSEN = 1000  # at once


def choices(among: Sequence[T], sizes: range, limit: int) -> list[tuple[T, ...]] | None:
    """Every choice of so many at once; None if there are over `limit` of them."""
    total = 0
    for size in sizes:
        total += comb(len(among), size)
        if total > limit or size > _MAX_CHOSEN:
            return None
    return [chosen for size in sizes for chosen in combinations(among, size)]
