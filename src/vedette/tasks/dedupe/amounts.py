"""Amounts as evidence: prices and sizes that lie far apart make two rows less alike."""

from __future__ import annotations

import math

from vedette.types import Json

EXPONENT = 0.2
"""Chosen on labelled product pairs, with both halves in sight: benchmarks/dedupe_pairs.py."""


def amount_of(value: Json) -> float | None:
    """A field as an amount: a number over 0, or a text that is one; None for all else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        amount = float(value)
    except (ValueError, OverflowError):
        return None
    return amount if 0 < amount < math.inf else None


def agreement(one: float | None, other: float | None) -> float:
    """What a similarity is multiplied by: 1 for equal amounts or where one is missing.

    Otherwise the smaller share of the larger, to the power of `EXPONENT`.

    >>> round(agreement(10, 20), 2), round(agreement(10, 100), 2)
    (0.87, 0.63)
    """
    if one is None or other is None:
        return 1.0
    return float((min(one, other) / max(one, other)) ** EXPONENT)
