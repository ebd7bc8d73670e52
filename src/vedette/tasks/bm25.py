"""BM25: how well the words of a text match those of a query, without a model."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

K1 = 1.2
B = 0.75

# Scripts that put no spaces between words (Thai, Lao, kana, Han), and Hangul, whose words carry
# their particles: there the terms are characters and pairs of them.
_UNSPACED = (
    "\u0e00-\u0eff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_RUNS = re.compile(rf"(?P<unspaced>[{_UNSPACED}]+)|[^\W_{_UNSPACED}]+")


_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]+")


def is_unspaced(term: str) -> bool:
    """Whether a term is a piece of a run without spaces, as Chinese has them."""
    return _IS_UNSPACED.match(term) is not None


def terms(text: str) -> list[str]:
    """The words of a text, folded; of Chinese and the like, characters and pairs of them."""
    found: list[str] = []
    for run in _RUNS.finditer(unicodedata.normalize("NFKC", text).casefold()):
        word = run[0]
        found += word if run["unspaced"] else (word,)
        if run["unspaced"]:
            found += (word[i : i + 2] for i in range(len(word) - 1))
    return found


class Bm25:
    """Documents, counted once for many queries (Robertson and Zaragoza 2009).

    How rare a word is, is counted among these documents alone: among the hits of a search for a
    word that word is not rare. The inverse document frequency is Lucene's, which is never negative.
    """

    def __init__(self, documents: Sequence[str]) -> None:
        self._counts = [Counter(terms(document)) for document in documents]
        lengths = [count.total() for count in self._counts]
        mean_length = math.fsum(lengths) / len(lengths) if any(lengths) else 1.0
        self._relative_lengths = [length / mean_length for length in lengths]

    def scores(self, query: str) -> list[float]:
        """The score of each document, 0 where no word is shared."""
        wanted = Counter(terms(query))
        n_holding = {term: sum(term in count for count in self._counts) for term in wanted}
        n = len(self._counts)
        idf = {
            term: math.log(1 + (n - holding + 0.5) / (holding + 0.5))
            for term, holding in n_holding.items()
        }
        return [
            math.fsum(
                times * idf[term] * _saturated(count[term], length)
                for term, times in wanted.items()
                if term in count
            )
            for count, length in zip(self._counts, self._relative_lengths, strict=True)
        ]


def bm25(query: str, documents: Sequence[str]) -> list[float]:
    """The score of each document for one query; see `Bm25`."""
    return Bm25(documents).scores(query)


def _saturated(n: int, relative_length: float) -> float:
    return n * (K1 + 1) / (n + K1 * (1 - B + B * relative_length))
