"""A closed question's answer, from the scores of its choices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decision:
    """Probabilities over the choices (they sum to 1), the best first by `order`.

    `mass` is the probability that the model gave to all choices together, before they were
    normalised: a low one says that none of them is what it would have written.
    """

    choices: tuple[str, ...]
    probabilities: tuple[float, ...]
    mass: float

    @property
    def order(self) -> list[int]:
        """Indices of the choices, likeliest first; ties go to the earlier one."""
        return sorted(range(len(self.choices)), key=lambda i: -self.probabilities[i])

    @property
    def best(self) -> str:
        """The likeliest choice."""
        return self.choices[self.order[0]]

    @property
    def probability(self) -> float:
        """Probability of the likeliest choice."""
        return self.probabilities[self.order[0]]

    @property
    def margin(self) -> float:
        """Distance to the second choice; 1 where there is only one."""
        order = self.order
        if len(order) < 2:
            return 1.0
        return self.probability - self.probabilities[order[1]]


def normalised(logprobs: Sequence[float]) -> list[float]:
    """Log-probabilities scaled to sum to 1 over the choices."""
    total = log_sum(logprobs)
    return [value - total for value in logprobs]


def tempered(logprobs: Sequence[float], temperature: float) -> list[float]:
    """Log-probabilities divided by a temperature, and scaled to sum to 1 again."""
    return normalised([value / temperature for value in logprobs])


def log_sum(values: Sequence[float]) -> float:
    """log of the sum of exponentials."""
    peak = max(values)
    return peak + math.log(math.fsum(math.exp(value - peak) for value in values))


def decide(
    choices: Sequence[str],
    logprobs: Sequence[float],
    log_prior: Sequence[float] | None = None,
    temperature: float = 1.0,
) -> Decision:
    """Probabilities of the choices, divided by what the model expects before reading (`log_prior`).

    The correction is the contextual calibration of Zhao et al. 2021 (arXiv 2102.09690). A
    `temperature` over 1 then makes the answer less sure, one under 1 surer.
    """
    mass = math.exp(min(0.0, log_sum(logprobs)))
    values = normalised(logprobs)
    if log_prior is not None:
        values = normalised([v - p for v, p in zip(values, log_prior, strict=True)])
    if temperature != 1.0:
        values = tempered(values, temperature)
    return Decision(tuple(choices), tuple(math.exp(value) for value in values), mass)


def mean_prior(rows: Sequence[Sequence[float]]) -> list[float]:
    """log of the mean probability of each choice over several score rows."""
    columns = zip(*(normalised(row) for row in rows), strict=True)
    return [log_sum(column) - math.log(len(rows)) for column in columns]


def mean_logprobs(rows: Sequence[Sequence[float]]) -> list[float]:
    """Mean log-probability of each choice over several ways of putting one question."""
    return [math.fsum(column) / len(rows) for column in zip(*rows, strict=True)]
