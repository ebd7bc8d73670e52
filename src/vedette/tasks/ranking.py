"""The arithmetic of a ranking: scores of several kinds on one scale, and an order of all."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, pstdev
from typing import Literal

READ = 50
SCORINGS = ("yes-no", "likelihood")
SCORING: Literal["yes-no", "likelihood"] = "likelihood"
WINDOW_TOKENS = 400

# Chosen on development data: benchmarks/rerank_cranfield.py.
BM25_WEIGHT = 0.5  # standard deviations of BM25 for one of the model's
MOST_SHIFT = 0.25  # what a comparison can add to a score, in standard deviations


def standardised(values: Sequence[float]) -> list[float]:
    """Values as distances from their mean, in standard deviations; 0 where none differs."""
    deviation = pstdev(values) if values else 0.0
    if deviation <= 1e-9:
        return [0.0] * len(values)
    mean = fmean(values)
    return [(value - mean) / deviation for value in values]


def by_score(indices: Iterable[int], scores: Sequence[float]) -> list[int]:
    """The indices, highest score first; `scores` is by index. Ties go to the lower index."""
    return sorted(indices, key=lambda i: (-scores[i], i))


def whole_ranking(
    read: Sequence[int], scores: Sequence[float], words: Sequence[float]
) -> list[tuple[int, float]]:
    """Every candidate once, with its score: those that were read, then the others by BM25.

    `scores` are those of `read`, in its order; `words` are the BM25 scores of all. The others
    score as the last that was read, so that scores never rise from one place to the next.
    """
    score_of = dict(zip(read, scores, strict=True))
    last = min(scores, default=0.0)
    others = by_score((i for i in range(len(words)) if i not in score_of), words)
    ranked = sorted(score_of, key=lambda i: (-score_of[i], i))
    return [*((i, score_of[i]) for i in ranked), *((i, last) for i in others)]


def sigmoid(value: float) -> float:
    """A score of any size as a number between 0 and 1."""
    return 1 / (1 + math.exp(-value)) if value >= 0 else 1 - 1 / (1 + math.exp(value))
