"""The arithmetic of a ranking: scores of several kinds on one scale, and an order of all."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, pstdev
from typing import Literal, TypeAlias, get_args

POOL = 50
ORDERS = ("given", "words")
ORDER: Literal["given", "words"] = "given"
Method: TypeAlias = Literal["embedding", "likelihood", "yes-no", "words"]
METHODS: tuple[Method, ...] = get_args(Method)
METHOD: Method = "embedding"
READING_METHODS = ("likelihood", "yes-no")
READ = 10  # candidates, by these methods
WHOLE_TOKENS = 400  # the window size of these
OPENING_TOKENS = 80  # what places a candidate: a title and some sentences

# Chosen on development data: benchmarks/rerank_cranfield.py.
FIRST_WEIGHT = 1.75  # standard deviations of the first order's places for one of the model's
NEIGHBOURS = 0.9  # the share of a score that comes from a candidate and those most like it


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


def places(scores: Sequence[float]) -> list[int]:
    """The place of each score among all, from 0, the highest first; equal scores share one.

    >>> places([1.0, 3.0, 1.0, 0.0])
    [1, 0, 1, 3]
    """
    place_of: dict[float, int] = {}
    for place, score in enumerate(sorted(scores, reverse=True)):
        place_of.setdefault(score, place)
    return [place_of[score] for score in scores]


def worth(place: int) -> float:
    """What a place in the first order, from 0, is worth: a place matters most near the top."""
    return -float((place + 1) ** (1 / 3))


def whole_ranking(
    scored: Sequence[int], scores: Sequence[float], first: Sequence[int]
) -> list[tuple[int, float]]:
    """Every candidate once, with its score: those that have one, then the others.

    `scores` are those of `scored`, in its order; `first` is the order of all, in which the others
    follow. They score as the last of these, so that scores never rise from one place to the
    next.
    """
    score_of = dict(zip(scored, scores, strict=True))
    last = min(scores, default=0.0)
    ranked = sorted(score_of, key=lambda i: (-score_of[i], i))
    return [*((i, score_of[i]) for i in ranked), *((i, last) for i in first if i not in score_of)]


def sigmoid(value: float) -> float:
    """A score of any size as a number between 0 and 1."""
    return 1 / (1 + math.exp(-value)) if value >= 0 else 1 - 1 / (1 + math.exp(value))
