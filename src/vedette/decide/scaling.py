"""What makes probabilities mean what they say: a temperature and a weight for each choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .closed import mean_prior, normalised, tempered

COLDEST, HOTTEST = 0.05, 20.0
SHRINKAGE = 2.0
"""How strongly the choices' weights are held to the mean over the rows: as by a Gaussian prior with
a variance of 1 / (2 SHRINKAGE). From 0.5 to 6 the differences on development data were small."""
MOST_STEPS = 50
ENOUGH = 1e-9  # a step that promises less is the last

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scaling:
    """Scores less `log_prior`, over `temperature`, then scaled to sum to 1."""

    log_prior: tuple[float, ...]
    temperature: float

    def apply(self, logprobs: Sequence[float]) -> list[float]:
        """The log-probabilities that these become; without a prior none is taken away."""
        prior = self.log_prior or [0.0] * len(logprobs)
        return tempered([v - p for v, p in zip(logprobs, prior, strict=True)], self.temperature)


def fit_scaling(
    rows: Sequence[Sequence[float]], right: Sequence[int], *, leans: bool = True
) -> Scaling:
    """The scaling under which the right choices are likeliest.

    `rows` are log-probabilities (n_rows, n_choices), `right` the index of each row's right choice.
    It is temperature scaling with a bias for each choice (vector scaling with one slope; Guo et
    al. 2017, arXiv 1706.04599). The biases are held near what the mean over the rows gives (batch
    calibration, Zhou et al. 2023, arXiv 2309.17249), so that few rows do not lead astray. Scores
    that are known not to lean (`leans` false) get the temperature only. It lies between `COLDEST`
    and `HOTTEST`; with no rows it is 1.
    """
    if not rows:
        return Scaling((), 1.0)
    prior = np.array(mean_prior(rows) if leans else [0.0] * len(rows[0]))
    scores = np.array([normalised(row) for row in rows]) - prior  # (n_rows, n_choices)
    chosen = np.zeros_like(scores)
    chosen[np.arange(len(right)), list(right)] = 1
    fit = _Fit(scores, chosen, leans)
    slope, bias = fit.best(1.0, np.zeros(scores.shape[1]), moves_slope=True)
    held = min(max(slope, 1 / HOTTEST), 1 / COLDEST)
    if held != slope:  # the loss is convex, so the best within the bounds lies on the nearest one
        slope, bias = fit.best(held, np.zeros_like(bias), moves_slope=False)
    return Scaling(tuple((prior - bias / slope).tolist()), float(1 / slope))


@dataclass(frozen=True, slots=True)
class _Fit:
    """The convex loss of `slope * scores + bias`, and Newton's way down."""

    scores: Array
    chosen: Array
    leans: bool

    def loss(self, slope: float, bias: Array) -> float:
        logits = slope * self.scores + bias
        right = (logits * self.chosen).sum(axis=1)
        return float((_log_sum(logits) - right).sum() + SHRINKAGE * (bias @ bias))

    def best(self, slope: float, bias: Array, *, moves_slope: bool) -> tuple[float, Array]:
        loss = self.loss(slope, bias)
        for _ in range(MOST_STEPS):
            step, gain = self._newton(slope, bias, moves_slope)
            size = 1.0
            while size > ENOUGH:
                at = slope - size * step[0], bias - size * step[1:]
                if (new := self.loss(*at)) <= loss - 1e-4 * size * gain:
                    break
                size /= 2
            else:
                return slope, bias
            (slope, bias), loss = at, new
            if gain < ENOUGH or slope > 1 / COLDEST:  # beyond the bound it is held there anyway
                break
        return slope, bias

    def _newton(self, slope: float, bias: Array, moves_slope: bool) -> tuple[Array, float]:
        """The step (slope, then biases) to be taken away, and what it promises to gain."""
        logits = slope * self.scores + bias
        shares = np.exp(logits - _log_sum(logits)[:, None])  # (n_rows, n_choices)
        wrong = shares - self.chosen
        n = len(bias)
        gradient = np.concatenate(([(wrong * self.scores).sum()], wrong.sum(axis=0)))
        gradient[1:] += 2 * SHRINKAGE * bias
        expected = (shares * self.scores).sum(axis=1)
        spread = self.scores - expected[:, None]
        curvature = np.empty((n + 1, n + 1))
        curvature[0, 0] = (shares * self.scores * spread).sum() + 1e-9
        curvature[0, 1:] = curvature[1:, 0] = (shares * spread).sum(axis=0)
        curvature[1:, 1:] = np.diag(shares.sum(axis=0)) - shares.T @ shares
        curvature[1:, 1:] += 2 * SHRINKAGE * np.eye(n)
        moving = np.flatnonzero([moves_slope, *[self.leans] * n])
        step = np.zeros(n + 1)
        if len(moving):
            step[moving] = np.linalg.solve(curvature[np.ix_(moving, moving)], gradient[moving])
        return step, float(gradient @ step)


def _log_sum(logits: Array) -> Array:
    peak = logits.max(axis=1)
    total: Array = peak + np.log(np.exp(logits - peak[:, None]).sum(axis=1))
    return total
