"""How near a query is to each of some passages, in what the model expects to come after them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
_Exact = NDArray[np.float64]

_LEAST_SHARE = 1e-8  # of the variance; what is below is rounding


def nearness(query: Vectors, passages: Vectors) -> list[float]:
    """The cosine of the query with each passage, among these.  # (n_values), (n_passages, n_values)

    All is seen from the middle of the passages. The few directions in which these differ most say
    little (how technical the first word will be, how long); so each direction is divided by its
    spread, to which the mean spread is added, as passages are few. Passages that do not differ,
    or only one, are all at 0.
    """
    levelled = _levelled(passages)
    middle = levelled.mean(axis=0)
    moved = levelled - middle
    # Passages are fewer than values: their products tell the directions in which they differ.
    squares, sides = np.linalg.eigh(moved @ moved.T)
    differ = squares > _LEAST_SHARE * np.square(levelled).sum()
    if not differ.any():
        return [0.0] * len(passages)
    squares, sides = squares[differ], sides[:, differ]
    lengths = np.sqrt(squares)
    scales = 1 / np.sqrt(squares + squares.mean())
    seen = _unit(sides * lengths * scales)
    asked = _unit(sides.T @ (moved @ (_levelled(query[None])[0] - middle)) / lengths * scales)
    found: list[float] = (seen @ asked).tolist()
    return found


def _levelled(vectors: Vectors) -> _Exact:
    """Logits mean the same with any number added to all of them: here their mean is 0."""
    exact = vectors.astype(np.float64)
    return np.asarray(exact - exact.mean(axis=1, keepdims=True), np.float64)


def _unit(vectors: _Exact) -> _Exact:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), np.float64)
