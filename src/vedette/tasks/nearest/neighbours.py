"""From likeness to single texts to likeness to labels, with a scale and a limit of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

DECAY = 0.5
"""Each further text of a label counts half as much as the one that is nearer."""

SCALES = tuple(5 * 1.25**i for i in range(14))  # 5 to 91
UNFITTED_SCALE = 25.0

Scores = NDArray[np.float64]


class Neighbours:
    """Which label each text belongs to. `owner` is the label's index for each.  # (n_texts,)"""

    def __init__(self, owner: Sequence[int], n_labels: int) -> None:
        self._owner = np.asarray(owner)
        self._n_labels = n_labels
        members = [np.flatnonzero(self._owner == i) for i in range(n_labels)]
        self._width = max(map(len, members))
        # Each label's texts, filled up with the number after the last one.
        self._members = np.full((n_labels, self._width), len(self._owner))
        for row, own in zip(self._members, members, strict=True):
            row[: len(own)] = own

    def label_scores(self, similarities: NDArray[np.floating]) -> Scores:
        """Of each text by its likeness to the known ones: a weighed mean for each label.

        (n, n_texts) to (n, n_labels). A text that is not to be counted has the likeness -inf.
        """
        n = len(similarities)
        padded = np.concatenate([similarities, np.full((n, 1), -np.inf)], axis=1)
        nearest = -np.sort(-padded[:, self._members], axis=2)  # (n, n_labels, width)
        there = np.isfinite(nearest)
        weights = there * DECAY ** np.arange(self._width)
        sums = np.where(there, nearest, 0.0) * weights
        return np.asarray(sums.sum(axis=2) / np.maximum(weights.sum(axis=2), 1e-9))

    def left_out(self, among: NDArray[np.floating]) -> Scores:
        """The known texts' own scores, each as if it were not known itself.

        `among` (n_texts, n_texts) to (n_texts, n_labels).
        """
        apart = np.array(among, dtype=np.float64)
        np.fill_diagonal(apart, -np.inf)
        return self.label_scores(apart)


def fit_scale(scores: Scores, right: Sequence[int]) -> float:
    """What likeness is multiplied by so that its softmax is a probability: least log loss."""
    index = np.arange(len(right)), np.asarray(right)
    losses = {scale: -float(log_softmax(scores * scale)[index].mean()) for scale in SCALES}
    return min(losses, key=lambda scale: losses[scale])


def log_softmax(scores: Scores) -> Scores:
    """Log-probabilities along the last axis."""
    peak = scores.max(axis=-1, keepdims=True)
    total = np.log(np.exp(scores - peak).sum(axis=-1, keepdims=True))
    return np.asarray(scores - peak - total)
