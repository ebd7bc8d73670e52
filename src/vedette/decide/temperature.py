"""One number that makes probabilities mean what they say, fitted on labelled rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from .closed import tempered

COLDEST, HOTTEST = 0.05, 20.0
_GOLDEN = (math.sqrt(5) - 1) / 2


def fit_temperature(rows: Sequence[Sequence[float]], right: Sequence[int]) -> float:
    """The temperature under which the right choices are likeliest (Guo et al. 2017, 1706.04599).

    `rows` are log-probabilities (n_rows, n_choices), `right` the index of each row's right
    choice. It lies between `COLDEST` and `HOTTEST`; with no rows it is 1.
    """
    if not rows:
        return 1.0

    def loss(log_temperature: float) -> float:
        temperature = math.exp(log_temperature)
        return -math.fsum(
            tempered(row, temperature)[index] for row, index in zip(rows, right, strict=True)
        )

    return math.exp(_least(loss, math.log(COLDEST), math.log(HOTTEST)))


def _least(loss: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one valley is least: golden-section search."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = loss(left), loss(right)
    while high - low > 1e-4:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = loss(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = loss(right)
    return (low + high) / 2
