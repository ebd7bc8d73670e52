"""A threshold that promises how often the answers above it are wrong, from labelled rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vedette.errors import InputError


@dataclass(frozen=True, slots=True)
class Judged:
    """One labelled row: how sure the answer was, in [0, 1], and whether it was right."""

    confidence: float
    is_right: bool


@dataclass(frozen=True, slots=True)
class Threshold:
    """Answers with a confidence over `above` are kept; the others go to somebody who knows more.

    `error_bound` is the upper bound on the error among kept answers that the labelled rows give:
    `n_wrong` of the `n_kept` rows that it kept were wrong, of `n_rows`.
    """

    above: float
    error_bound: float
    n_kept: int
    n_wrong: int
    n_rows: int

    @property
    def coverage(self) -> float:
        """Share of the labelled rows that were kept."""
        return self.n_kept / self.n_rows


def binomial_cdf(n_wrong: int, n: int, rate: float) -> float:
    """P(at most `n_wrong` of `n`) where each is wrong with probability `rate`."""
    if rate <= 0 or n_wrong >= n:
        return 1.0
    if rate >= 1:
        return 0.0
    log_rate, log_other = math.log(rate), math.log1p(-rate)
    terms = (
        math.lgamma(n + 1)
        - math.lgamma(k + 1)
        - math.lgamma(n - k + 1)
        + k * log_rate
        + (n - k) * log_other
        for k in range(n_wrong + 1)
    )
    return min(1.0, math.fsum(map(math.exp, terms)))


def error_bound(n_wrong: int, n: int, delta: float) -> float:
    """The upper end of a one-sided interval for an error rate, exact for any n.

    The true rate is over it with a probability of at most `delta` (Clopper and Pearson 1934).
    """
    if n_wrong >= n:
        return 1.0
    low, high = n_wrong / n, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        if binomial_cdf(n_wrong, n, middle) > delta:
            low = middle
        else:
            high = middle
    return high


def least_error(n_wrong: int, n: int, delta: float) -> float:
    """The lower end of such an interval: the true rate is under it with at most `delta`."""
    return 1 - error_bound(n - n_wrong, n, delta) if n else 0.0


def least_rows(n_wrong: int, alpha: float, delta: float) -> int:
    """The fewest kept rows that allow `n_wrong` wrong ones among them under the promise."""
    low, high = n_wrong, 2 * n_wrong + 1
    while error_bound(n_wrong, high, delta) > alpha:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if error_bound(n_wrong, middle, delta) > alpha:
            low = middle
        else:
            high = middle
    return high


def check_shares(**shares: float) -> None:
    """Raise `InputError`, with its name, for what is no share strictly between 0 and 1."""
    for name, value in shares.items():
        if not 0 < value < 1:
            raise InputError(f"{name} is {value}; it must be between 0 and 1")


def find_threshold(rows: Sequence[Judged], alpha: float, delta: float) -> Threshold | None:
    """The laxest threshold under which at most `alpha` of the kept answers are wrong.

    That holds with a probability of at least 1 - `delta` over the draw of the labelled rows,
    which must be like the rows to come. Thresholds are tested from strict to lax, up to the first
    that fails (fixed-sequence testing; Angelopoulos et al. 2021, "Learn then Test", arXiv
    2110.01052): the first is the strictest that keeps enough rows to promise anything, each next
    one the first that may keep one wrong answer more, so that no test is spent where it could
    only fail. They are chosen without a look at what is right. None: no threshold can promise
    this. Raises `InputError` for an `alpha` or `delta` that is not strictly between 0 and 1.
    """
    check_shares(alpha=alpha, delta=delta)
    ordered = sorted(rows, key=lambda row: -row.confidence)
    found = None
    for above, n_kept in _candidates([row.confidence for row in ordered], alpha, delta):
        n_wrong = sum(not row.is_right for row in ordered[:n_kept])
        bound = error_bound(n_wrong, n_kept, delta)
        if bound > alpha:
            break
        found = Threshold(above, bound, n_kept, n_wrong, len(rows))
    return found


def _candidates(
    confidences: Sequence[float], alpha: float, delta: float
) -> Iterator[tuple[float, int]]:
    """Thresholds with the number of rows over each; `confidences` from the highest down."""
    n, n_kept, n_wrong = len(confidences), 0, 0
    while n_kept < n and least_rows(n_wrong, alpha, delta) <= n:
        n_kept = max(n_kept + 1, least_rows(n_wrong, alpha, delta))
        while n_kept < n and confidences[n_kept] == confidences[n_kept - 1]:
            n_kept += 1
        # The threshold is the confidence of the first row that is not kept: given that, the kept
        # ones are an independent sample of what lies over it.
        yield (confidences[n_kept] if n_kept < n else 0.0), n_kept
        n_wrong += 1
    if 0 < n_kept < n:
        yield 0.0, n
