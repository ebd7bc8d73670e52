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
    """A text's likeness to each label (`scores`), and the known text that it is nearest to."""

    scores: Scores
    scale: float
    nearest: int

    @property
    def best(self) -> float:
        """Likeness to the nearest label, at most 1."""
        return float(self.scores.max())

    def logprobs(self, limit: float | None = None) -> list[float]:
        """Log-probability of each label; with `limit`, of a last one that is as near as that."""
        scores = self.scores if limit is None else np.append(self.scores, limit)
        return [float(value) for value in log_softmax(scores * self.scale)]


class Index:
    """Texts with the number of their label: `n_examples` examples first, then one for each label.

    `vectors` are their embeddings.  # (n_texts, n_values)
    """

    def __init__(
        self, texts: Sequence[str], vectors: Vectors, owner: Sequence[int], *, n_examples: int
    ) -> None:
        self._ngrams = Ngrams(texts)
        self._places = Places(vectors)
        self._neighbours = Neighbours(owner, len(texts) - n_examples)
        self._texts = tuple(texts)
        self._owner = tuple(owner)
        self._n_examples = n_examples

    def look_up(self, text: str, vector: Vectors) -> Found:
        """Where a text lies. `vector` (1, n_values) is its embedding."""
        likeness = _mean(self._ngrams.similarities(text)[None], self._places.similarities(vector))
        scores = self._neighbours.label_scores(likeness)[0]
        return Found(scores, self.scale, int(likeness[0].argmax()))

    @cached_property
    def _left_out(self) -> Scores:
        """Each example's scores from the other texts.  # (n_examples, n_labels)"""
        spelling = np.stack([self._ngrams.similarities(text) for text in self._texts])
        return self._neighbours.left_out(_mean(spelling, self._places.among()))[: self._n_examples]

    @cached_property
    def scale(self) -> float:
        """What makes probabilities of likeness, from the examples."""
        if not self._n_examples:
            return UNFITTED_SCALE
        return fit_scale(self._left_out, self._owner[: self._n_examples])

    def limit(self, loss: float) -> float:
        """The likeness to their nearest label that all examples but this share have."""
        return float(np.quantile(self._left_out.max(axis=1), loss))


def _mean(one: NDArray[np.floating], other: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.asarray((one + other) / 2, np.float64)
