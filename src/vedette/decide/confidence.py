"""How sure a distribution is, as one number in [0, 1]; formulas of the System One protocol."""

from __future__ import annotations

import math
from collections.abc import Sequence


def choice_confidence(probabilities: Sequence[float]) -> float:
    """How far the likeliest of N lies above even odds: (p_max - 1/N) / (1 - 1/N)."""
    n = len(probabilities)
    if n < 2:
        return 1.0
    return max(0.0, (max(probabilities) - 1 / n) / (1 - 1 / n))


def score_confidence(probabilities: Sequence[float]) -> float:
    """How close the levels' mass lies around the likeliest one.

    1 - sum p_i |i - mode|, over the mean distance of the levels from the middle of the scale.
    """
    n = len(probabilities)
    mode = max(range(n), key=lambda i: probabilities[i])
    spread = math.fsum(p * abs(i - mode) for i, p in enumerate(probabilities))
    even = math.fsum(abs(i - (n - 1) / 2) for i in range(n)) / n
    return min(1.0, max(0.0, 1 - spread / even)) if even else 1.0


def entropy_confidence(probabilities: Sequence[float]) -> float:
    """1 - H(p) / ln N: how far the whole distribution lies from even odds."""
    n = len(probabilities)
    if n < 2:
        return 1.0
    entropy = -math.fsum(p * math.log(p) for p in probabilities if p > 0)
    return min(1.0, max(0.0, 1 - entropy / math.log(n)))


def expected_level(probabilities: Sequence[float]) -> float:
    """The mean level, counted from 0."""
    return math.fsum(i * p for i, p in enumerate(probabilities))
