"""What labelled rows say about one question: prior, temperature, and a threshold that promises."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .closed import Decision, decide
from .risk import Judged, Threshold, check_shares, find_threshold
from .scaling import fit_scaling

N_BARS = 10
N_FOLDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """At most `alpha` of the kept answers are wrong, with a confidence of 1 - `delta`."""

    alpha: float = 0.05
    delta: float = 0.05

    def check(self) -> None:
        """Raise `InputError` unless both are strictly between 0 and 1."""
        check_shares(alpha=self.alpha, delta=self.delta)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How the scores of one question are read.

    `log_prior` is divided out, `temperature` applied, and what stays under the threshold is not
    kept: `threshold` for all answers, or `by_choice` for each choice on its own, where the promise
    holds for each. None keeps nothing: no threshold can promise this. `histogram` has the share of
    labelled rows in ten steps of confidence, as they are found when new.
    """

    choices: tuple[str, ...]
    log_prior: tuple[float, ...]
    temperature: float
    promise: Promise
    threshold: Threshold | None
    by_choice: Mapping[str, Threshold | None] | None
    histogram: tuple[float, ...]
    n_rows: int

    def decide(self, logprobs: Sequence[float]) -> Decision:
        """The decision from the scores of `choices`."""
        return decide(self.choices, logprobs, self.log_prior, self.temperature)

    def keeps(self, decision: Decision) -> bool:
        """Whether the promise covers this decision."""
        by_choice = self.by_choice
        threshold = self.threshold if by_choice is None else by_choice.get(decision.best)
        return threshold is not None and decision.probability > threshold.above

    def as_dict(self) -> dict[str, Any]:
        """As it is written to a file."""
        return asdict(self)


def calibrate(
    choices: Sequence[str],
    rows: Sequence[Sequence[float]],
    right: Sequence[int],
    promise: Promise,
    *,
    by_choice: bool = False,
    has_prior: bool = True,
) -> Calibration:
    """Fit one question. `rows` are raw scores (n_rows, n_choices), `right` the right choices.

    Each row is judged as it would be answered if it were new: under a scaling that was fitted
    without it, in `N_FOLDS` turns, and then under a temperature that makes these answers mean what
    they say. The threshold is found on them. New answers use a scaling of all rows, and that
    temperature too. Without `has_prior` the scores are known to lean to no choice, and get no
    weights. Raises `InputError` for an impossible promise.
    """
    scaling = fit_scaling(rows, right, leans=has_prior)
    as_new = _as_new(rows, right, leans=has_prior)
    temperature = fit_scaling(as_new, right, leans=False).temperature
    decisions = [decide(choices, row, temperature=temperature) for row in as_new]
    judged = [
        Judged(d.probability, d.best == choices[index])
        for d, index in zip(decisions, right, strict=True)
    ]
    thresholds = None
    if by_choice:
        said = [d.best for d in decisions]
        thresholds = {
            choice: find_threshold(
                [row for row, best in zip(judged, said, strict=True) if best == choice],
                promise.alpha,
                promise.delta,
            )
            for choice in choices
        }
    return Calibration(
        choices=tuple(choices),
        log_prior=scaling.log_prior,
        temperature=scaling.temperature * temperature,
        promise=promise,
        threshold=None if by_choice else find_threshold(judged, promise.alpha, promise.delta),
        by_choice=thresholds,
        histogram=histogram([row.confidence for row in judged]),
        n_rows=len(rows),
    )


def _as_new(
    rows: Sequence[Sequence[float]], right: Sequence[int], *, leans: bool
) -> list[list[float]]:
    """The log-probabilities of each row under a scaling that other rows gave."""
    scaled: dict[int, list[float]] = {}
    for fold in range(min(N_FOLDS, len(rows))):
        others = [i for i in range(len(rows)) if i % N_FOLDS != fold]
        scaling = fit_scaling([rows[i] for i in others], [right[i] for i in others], leans=leans)
        for i in range(fold, len(rows), N_FOLDS):
            scaled[i] = scaling.apply(rows[i])
    return [scaled[i] for i in range(len(rows))]


def calibration_of(data: Mapping[str, Any]) -> Calibration:
    """The calibration that `as_dict` wrote. Raises KeyError, TypeError or ValueError."""
    by_choice = data["by_choice"]
    return Calibration(
        choices=tuple(map(str, data["choices"])),
        log_prior=tuple(map(float, data["log_prior"])),
        temperature=float(data["temperature"]),
        promise=Promise(**data["promise"]),
        threshold=_threshold_of(data["threshold"]),
        by_choice=None
        if by_choice is None
        else {str(name): _threshold_of(value) for name, value in by_choice.items()},
        histogram=tuple(map(float, data["histogram"])),
        n_rows=int(data["n_rows"]),
    )


def _threshold_of(data: Mapping[str, Any] | None) -> Threshold | None:
    return None if data is None else Threshold(**data)


def histogram(confidences: Sequence[float]) -> tuple[float, ...]:
    """Shares of the confidences in `N_BARS` equal steps from 0 to 1."""
    counts = [0] * N_BARS
    for value in confidences:
        counts[min(N_BARS - 1, max(0, math.ceil(value * N_BARS) - 1))] += 1
    return tuple(count / max(1, len(confidences)) for count in counts)
