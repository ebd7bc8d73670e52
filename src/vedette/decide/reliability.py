"""What stated confidences are worth: calibration, and risk against coverage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .risk import Judged

N_BINS = 10


@dataclass(frozen=True, slots=True)
class Bin:
    """Rows whose confidence lies in (low, high], the lowest bin with its edge."""

    low: float
    high: float
    n: int
    confidence: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class RiskPoint:
    """Keeping the surest `coverage` of the rows, a share `error` of them is wrong."""

    coverage: float
    above: float
    error: float


def accuracy(rows: Sequence[Judged]) -> float:
    """Share of right answers."""
    return sum(row.is_right for row in rows) / len(rows)


def bins(rows: Sequence[Judged], n_bins: int = N_BINS) -> list[Bin]:
    """Rows by confidence, in bins of equal width; empty ones are left out."""
    groups: dict[int, list[Judged]] = {}
    for row in rows:
        index = min(n_bins - 1, max(0, math.ceil(row.confidence * n_bins) - 1))
        groups.setdefault(index, []).append(row)
    return [
        Bin(
            low=index / n_bins,
            high=(index + 1) / n_bins,
            n=len(group),
            confidence=math.fsum(row.confidence for row in group) / len(group),
            accuracy=accuracy(group),
        )
        for index, group in sorted(groups.items())
    ]


def expected_calibration_error(rows: Sequence[Judged], n_bins: int = N_BINS) -> float:
    """Mean distance between confidence and accuracy over the bins (Naeini et al. 2015)."""
    return math.fsum(b.n * abs(b.confidence - b.accuracy) for b in bins(rows, n_bins)) / len(rows)


def brier_score(rows: Sequence[Judged]) -> float:
    """Mean squared distance between confidence and being right; lower is better."""
    return math.fsum((row.confidence - row.is_right) ** 2 for row in rows) / len(rows)


def risk_coverage(rows: Sequence[Judged]) -> list[RiskPoint]:
    """The error among the surest rows, for every number of them that a threshold can choose."""
    ordered = sorted(rows, key=lambda row: -row.confidence)
    points, n_wrong = [], 0
    for n, row in enumerate(ordered, start=1):
        n_wrong += not row.is_right
        following = ordered[n].confidence if n < len(ordered) else 0.0
        if following < row.confidence:
            points.append(RiskPoint(n / len(ordered), following, n_wrong / n))
    return points


def area_under_risk(rows: Sequence[Judged]) -> float:
    """Mean error over all coverages; lower is better, and confidence in the right order is best."""
    points = risk_coverage(rows)
    before = [0.0, *(point.coverage for point in points)]
    widths = (point.coverage - low for point, low in zip(points, before, strict=False))
    return math.fsum(width * point.error for width, point in zip(widths, points, strict=True))
