"""How many times as fast, how sure that is, and what to call it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

VerdictKind: TypeAlias = Literal["faster", "slower", "no difference", "unknown"]
Figures: TypeAlias = NDArray[np.float64]
"""A row for each prompt: tokens and seconds of the baseline, tokens and seconds of the other."""

CONFIDENCE = 0.99
"""Of each interval. A report has many of them, and one in twenty would be one in each report."""
LEAST = 0.02
"""What is less than this apart is called no difference, however sure it is."""
WIDEST = 4.0
"""An interval whose ends lie further apart than this factor says nothing."""
RESAMPLES = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A ratio of speeds, above 1 for faster than the baseline, and the bounds it lies within."""

    ratio: float
    low: float
    high: float

    @property
    def kind(self) -> VerdictKind:
        """`unknown` where there are too few prompts, or too unlike ones, to tell."""
        if self.high > WIDEST * self.low:
            return "unknown"
        if self.low > 1 and self.ratio > 1 + LEAST:
            return "faster"
        if self.high < 1 and self.ratio < 1 / (1 + LEAST):
            return "slower"
        return "no difference"

    @property
    def words(self) -> str:
        """The verdict as a sentence's end."""
        within = f"{self.low:.2f} to {self.high:.2f}"
        if self.kind == "unknown":
            return f"not known: {self.ratio:.2f} times the speed on too few prompts to tell"
        if self.kind != "no difference":
            return f"{self.kind}: {self.ratio:.2f} times the speed ({within})"
        if self.low > 1 or self.high < 1 or max(self.high - 1, 1 - self.low) <= 2 * LEAST:
            return f"no difference that matters ({within})"
        return f"no difference found; what lies within {within} would not show"


def interval(workloads: Sequence[Figures], seed: int = 0) -> Interval:
    """The ratio of speeds over these workloads, each counting alike, with its interval.

    A workload's speed is its tokens over its seconds. The ratio is the geometric mean of the
    workloads' ratios. The standard error comes from a bootstrap over prompts within each workload,
    both sides of a prompt drawn together, widened by n / (n - 1) as the bootstrap's is too small;
    the interval is Student's, its degrees of freedom by Welch and Satterthwaite. For so few
    prompts that holds what it promises, which percentiles of the resamples do not (Hesterberg
    2015, "What Teachers Should Know About the Bootstrap").
    """
    random = np.random.default_rng(seed)
    log_ratio = float(np.mean([_log_ratio(one[None])[0] for one in workloads]))
    ratio = math.exp(log_ratio)
    if min(len(one) for one in workloads) < 2:
        return Interval(ratio=ratio, low=0.0, high=math.inf)
    variances = np.array([_variance(one, random) for one in workloads]) / len(workloads) ** 2
    freedoms = np.array([len(one) - 1 for one in workloads])
    total = float(variances.sum())
    if total == 0.0:
        return Interval(ratio=ratio, low=ratio, high=ratio)
    freedom = total**2 / float((variances**2 / freedoms).sum())
    reach = student_quantile((1 + CONFIDENCE) / 2, freedom) * math.sqrt(total)
    return Interval(
        ratio=ratio, low=math.exp(log_ratio - reach), high=math.exp(min(log_ratio + reach, 700.0))
    )


def _log_ratio(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each resample: (resamples, prompts, 4) to (resamples,)."""
    sums = np.log(samples.sum(axis=1))
    ratios: NDArray[np.float64] = sums[:, 2] - sums[:, 3] - sums[:, 0] + sums[:, 1]
    return ratios


def _variance(figures: Figures, random: np.random.Generator) -> float:
    n = len(figures)
    drawn = random.integers(0, n, size=(RESAMPLES, n))
    return float(np.var(_log_ratio(figures[drawn]))) * n / (n - 1)


def student_quantile(p: float, freedom: float) -> float:
    """The value below which Student's t stays with probability p > 0.5: by integrating its density.

    With x = tan(a) sqrt(freedom) the density becomes cos(a)^(freedom - 1) on a finite range.
    """
    angles = np.linspace(0.0, math.pi / 2, 200_001)
    density = np.cos(angles) ** (freedom - 1)
    mass = np.concatenate(([0.0], np.cumsum((density[1:] + density[:-1]) / 2)))
    angle = np.interp((p - 0.5) * 2 * mass[-1], mass, angles)
    return float(math.sqrt(freedom) * math.tan(angle))
