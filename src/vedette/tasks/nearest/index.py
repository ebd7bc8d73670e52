"""The known texts of a label list, ready to be asked which of them a text is near to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .neighbours import UNFITTED_SCALE, Neighbours, Scores, fit_scale, log_softmax
from .ngrams import Ngrams
from .places import Places, Vectors


@dataclass(frozen=True, slots=True)
class Found:
    """A text's likeness to each label, and the known text that it is nearest to.

    The last of `scores` is that out of scope, if there is one: never less than the limit.
    """

    scores: Scores
    scale: float
    nearest: int

    best: float
    """Likeness to the nearest label, at most 1."""

    @property
    def logprobs(self) -> list[float]:
        """Log-probability of each label."""
        return [float(value) for value in log_softmax(self.scores * self.scale)]


class Index:
    """Texts with the number of their label: the first `n_examples` are examples.

    `vectors` are their embeddings.  # (n_texts, n_values)
    Labels are numbered from 0 to `n_labels` - 1; texts with the number `n_labels` are examples of
    what is out of scope.
    """

    def __init__(
        self,
        texts: Sequence[str],
        vectors: Vectors,
        owner: Sequence[int],
        *,
        n_labels: int,
        n_examples: int,
    ) -> None:
        self._ngrams = Ngrams(texts)
        self._places = Places(vectors)
        self._neighbours = Neighbours(owner, max(n_labels, max(owner) + 1))
        self._texts = tuple(texts)
        self._owner = tuple(owner)
        self._n_labels = n_labels
        self._in_scope = [i for i in range(n_examples) if owner[i] < n_labels]

    def look_up(self, text: str, vector: Vectors, limit: float | None = None) -> Found:
        """Where a text lies. `vector` (1, n_values) is its embedding.

        With `limit` a last label is out of scope: as near as its examples, and that at least.
        """
        likeness = _mean(self._ngrams.similarities(text)[None], self._places.similarities(vector))
        scores = self._neighbours.label_scores(likeness)[0]
        best = float(scores[: self._n_labels].max())
        if limit is not None:
            outside = max([limit, *scores[self._n_labels :]])
            scores = np.append(scores[: self._n_labels], outside)
        return Found(scores, self.scale, int(likeness[0].argmax()), best)

    @cached_property
    def _left_out(self) -> Scores:
        """Each example's scores from the other texts.  # (n_in_scope, n_labels)"""
        spelling = np.stack([self._ngrams.similarities(text) for text in self._texts])
        scores = self._neighbours.left_out(_mean(spelling, self._places.among()))
        return np.asarray(scores[self._in_scope][:, : self._n_labels])

    @cached_property
    def scale(self) -> float:
        """What makes probabilities of likeness, from the examples."""
        if not self._in_scope:
            return UNFITTED_SCALE
        return fit_scale(self._left_out, [self._owner[i] for i in self._in_scope])

    def limit(self, loss: float) -> float:
        """The likeness to their nearest label that all examples but this share have."""
        return float(np.quantile(self._left_out.max(axis=1), loss))


def _mean(one: NDArray[np.floating], other: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.asarray((one + other) / 2, np.float64)
