"""A threshold over which few harmless texts lie, from the scores of harmless texts alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vedette.errors import InputError

from .risk import check_shares, error_bound, least_rows


@dataclass(frozen=True, slots=True)
class FlagThreshold:
    """Scores over `above` are flagged.

    At most `fpr` of harmless texts are, with a confidence of 1 - `delta` over the draw of the
    `n_rows` that it was found with; `n_flagged` of these are over it, and `fpr_bound` is the upper
    end of the interval that this gives.
    """

    above: float
    fpr: float
    delta: float
    fpr_bound: float
    n_flagged: int
    n_rows: int


def find_flag_threshold(scores: Sequence[float], fpr: float, delta: float) -> FlagThreshold:
    """The lowest threshold whose share of false alarms is promised.

    It is an order statistic of the harmless scores, chosen by their number alone, and so a
    distribution-free tolerance bound (Wilks 1941): with k of n scores over it, the true share is
    over `fpr` with a probability of at most P(Bin(n, fpr) <= k), which is `delta` at most. That is
    the one-sided bound of Clopper and Pearson. Raises `InputError` for an impossible promise, and
    for too few texts, with the number that it takes.
    """
    check_shares(fpr=fpr, delta=delta)
    n = len(scores)
    needed = least_rows(0, fpr, delta)
    if n < needed:
        raise InputError(
            f"{n} harmless texts cannot promise that at most {fpr:.3%} are flagged: "
            f"that takes {needed}",
            hint="give more texts, or a higher --fpr",
        )
    allowed = 0
    while allowed + 1 < n and error_bound(allowed + 1, n, delta) <= fpr:
        allowed += 1
    above = sorted(scores, reverse=True)[allowed]
    n_flagged = sum(score > above for score in scores)
    return FlagThreshold(above, fpr, delta, error_bound(n_flagged, n, delta), n_flagged, n)
