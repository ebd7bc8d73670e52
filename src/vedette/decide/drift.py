"""Whether answers are as sure as they were on the labelled rows, or something has changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

ALARM_OVER = 0.25  # the usual limit for the index: a shift that calls for a new model
LEAST_ROWS = 50  # with fewer, on either side, there is no verdict
CHANCE = 27.9  # chi-squared with 9 degrees of freedom is over this once in a thousand times


@dataclass(frozen=True, slots=True)
class Drift:
    """The population stability index between two histograms, and what it would take to matter.

    `limit` is `ALARM_OVER`, or what chance alone brings about once in a thousand times if that is
    more: without any drift the index is distributed as (1/n + 1/m) chi-squared (Yurdakul 2018,
    "Statistical Properties of Population Stability Index"). It is infinite with fewer than
    `LEAST_ROWS`, where that is not so yet.
    """

    index: float
    limit: float

    @property
    def is_alarm(self) -> bool:
        """Whether the shift is large, and more than chance."""
        return self.index > self.limit


def drift(before: Sequence[float], n_before: int, now: Sequence[int], n_now: int) -> Drift:
    """Compare shares over `n_before` rows with counts that come from `n_now` independent rows.

    Half a row of the former is added to each bar of both, so that an empty one is not infinitely
    far from a full one, and one that is empty in both adds nothing.
    """
    total = max(1, sum(now))
    index = 0.0
    for share, count in zip(before, now, strict=True):
        p, q = (
            (one * n_before + 0.5) / (n_before + len(before) / 2) for one in (share, count / total)
        )
        index += (q - p) * math.log(q / p)
    is_enough = min(n_before, n_now) >= LEAST_ROWS
    chance = CHANCE * (1 / n_before + 1 / n_now) if is_enough else math.inf
    return Drift(index, max(ALARM_OVER, chance))
