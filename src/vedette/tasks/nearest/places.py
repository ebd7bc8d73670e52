"""How close texts are in what the model expects after them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Places:
    """The embeddings of some texts, seen from their middle.  # (n_texts, n_values)

    What all texts have in common (the model's favourite first words) is taken away: without it
    every text lies close to every other one.
    """

    def __init__(self, vectors: Vectors) -> None:
        levelled = _levelled(vectors)
        self._middle = levelled.mean(axis=0)
        self._directions = self._directed(levelled)

    def similarities(self, vectors: Vectors) -> NDArray[np.float32]:
        """The cosine of each vector with each of the texts.  # (n_vectors, n_texts)"""
        return self._directed(_levelled(vectors)) @ self._directions.T

    def among(self) -> NDArray[np.float32]:
        """The cosine of each of the texts with each.  # (n_texts, n_texts)"""
        return self._directions @ self._directions.T

    def _directed(self, levelled: Vectors) -> Vectors:
        moved = levelled - self._middle
        lengths = np.linalg.norm(moved, axis=1, keepdims=True)
        return np.asarray(moved / np.maximum(lengths, 1e-9), np.float32)


def _levelled(vectors: Vectors) -> Vectors:
    """Logits mean the same with any number added to all of them: here their mean is 0."""
    return np.asarray(vectors - vectors.mean(axis=1, keepdims=True), np.float32)
