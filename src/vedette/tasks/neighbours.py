"""Scores lent between texts that are alike: what is like a good answer is likely one too.

The method is score regularisation (Diaz 2005, "Regularizing ad hoc retrieval scores"), on the
cosines of weighed words; no model is asked.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .bm25 import terms

STEM_CHARS = 6  # words that begin alike are taken for forms of one: needs no language
ROUNDS = 20
TEXTS_PER_NEIGHBOUR = 10
MOST_NEIGHBOURS = 5


def lent(scores: Sequence[float], texts: Sequence[str], share: float) -> list[float]:
    """The scores after `share` of each is taken from its text and the nearest ones.

    A text has a neighbour for every `TEXTS_PER_NEIGHBOUR` texts, `MOST_NEIGHBOURS` at most: among
    a few texts none, and the scores are as they were. A text weighs 1 for itself, another its
    cosine. This is done `ROUNDS` times over, so that neighbours of neighbours count a little.
    """
    nearest = min(MOST_NEIGHBOURS, len(texts) // TEXTS_PER_NEIGHBOUR)
    if nearest == 0 or share == 0:
        return [*scores]
    weights = _weights(texts, nearest)
    own = np.asarray(scores, dtype=np.float64)
    found = own
    for _ in range(ROUNDS):
        found = (1 - share) * own + share * (weights @ found)
    result: list[float] = found.tolist()
    return result


def _weights(texts: Sequence[str], nearest: int) -> NDArray[np.float64]:
    """(n_texts, n_texts): what each text counts in the mean of another; rows sum to 1."""
    alike = _cosines(texts)
    np.fill_diagonal(alike, 0.0)
    least = np.sort(alike, axis=1)[:, -nearest, None]
    alike[alike < least] = 0.0
    np.fill_diagonal(alike, 1.0)
    weights: NDArray[np.float64] = alike / alike.sum(axis=1, keepdims=True)
    return weights


def _cosines(texts: Sequence[str]) -> NDArray[np.float64]:
    """(n_texts, n_texts): the cosines of their words, rare ones weighing more; 0 without words."""
    counts = [Counter(term[:STEM_CHARS] for term in terms(text)) for text in texts]
    n_holding = Counter(term for count in counts for term in count)
    column = {term: i for i, term in enumerate(n_holding)}
    rows = np.zeros((len(texts), max(1, len(column))))
    for row, count in zip(rows, counts, strict=True):
        for term, n in count.items():
            rarity = math.log((len(texts) + 1) / (n_holding[term] + 0.5))
            row[column[term]] = (1 + math.log(n)) * rarity
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows /= np.where(lengths > 0, lengths, 1.0)
    cosines: NDArray[np.float64] = rows @ rows.T
    return cosines
