"""How much of their spelling texts share, without a model."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vedette.tasks.bm25 import is_unspaced, terms

SIZES = (3, 4)


def grams(text: str) -> Counter[str]:
    """Pieces of three and four letters of the words in their order, with the spaces between.

    They match across endings and across misspellings. Of Chinese and the like: characters and
    pairs of them.
    """
    words = terms(text)
    spaced = " ".join(word for word in words if not is_unspaced(word))
    line = f" {spaced} " if spaced else ""
    pieces = [line[i : i + n] for n in SIZES for i in range(len(line) - n + 1)]
    return Counter(pieces + [word for word in words if is_unspaced(word)])


class Ngrams:
    """The pieces of some texts, weighed by how rare they are among them (tf-idf)."""

    def __init__(self, texts: Sequence[str]) -> None:
        counts = [grams(text) for text in texts]
        n_holding = Counter(gram for count in counts for gram in count)
        n = len(texts)
        self._n_texts = n
        self._idf = {g: math.log(1 + (n - m + 0.5) / (m + 0.5)) for g, m in n_holding.items()}
        self._holding: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        for i, count in enumerate(counts):
            for gram, weight in self._weights(count).items():
                self._holding[gram].append((i, weight))

    def similarities(self, text: str) -> NDArray[np.float64]:
        """The cosine of a text with each of the texts, 0 where no piece is shared.  # (n_texts,)"""
        found = np.zeros(self._n_texts)
        for gram, weight in self._weights(grams(text)).items():
            for i, other in self._holding.get(gram, ()):
                found[i] += weight * other
        return found

    def _weights(self, count: Counter[str]) -> dict[str, float]:
        """Unit length over the pieces that any of the texts has."""
        raw = {g: (1 + math.log(n)) * self._idf[g] for g, n in count.items() if g in self._idf}
        length = math.sqrt(math.fsum(weight * weight for weight in raw.values()))
        return {gram: weight / length for gram, weight in raw.items()} if length else {}
