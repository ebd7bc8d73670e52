"""Guesses drawn at random where the answer is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vedette.engine.choose import Drawn
from vedette.engine.generate import Generation

MOST_TOKENS = 40
"""A draft draws from so many of its likeliest tokens: the rest is noise in a small model."""


@dataclass(slots=True)
class Draw:
    """Draws at the temperature of the answer, from the draft's likeliest tokens.

    Any distribution keeps the answer's own; the nearer to it, the more guesses are right.
    """

    temperature: float
    top_k: int
    random: np.random.Generator

    @classmethod
    def of(cls, work: Generation) -> Draw | None:
        """For an answer that is drawn itself and is to have it so; else None."""
        sampling = work.request.sampling
        if sampling.temperature <= 0 or not work.guessing.policy.is_drawn:
            return None
        if work.guessing.random is None:
            work.guessing.random = np.random.default_rng((sampling.seed % 2**32, 2))
        top_k = min(sampling.top_k, MOST_TOKENS) if sampling.top_k > 0 else MOST_TOKENS
        return cls(sampling.temperature, top_k, work.guessing.random)

    def next(self, row: NDArray[np.float32]) -> Drawn:
        """A token by these logits, in which what is forbidden is -inf."""
        n = min(self.top_k, row.size)
        best = np.argpartition(row, -n)[-n:]
        logits = row[best].astype(np.float64) / self.temperature
        weights = np.exp(logits - logits.max())
        probabilities = np.zeros(row.size)
        probabilities[best] = weights / weights.sum()
        chosen = self.random.random()
        at = int(np.searchsorted(np.cumsum(probabilities[best]), chosen, side="right"))
        return Drawn(int(best[min(at, n - 1)]), probabilities)
