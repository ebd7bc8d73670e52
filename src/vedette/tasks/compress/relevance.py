"""How much each unit of a text says about a question, or about the text as a whole; no model.

With a query, a unit is worth how many of the query's words stand near it, rare ones more: each
word's occurrences spread to their neighbourhood and saturate, so that a place where many different
words of the query come together beats one where a single word is repeated (the idea of BM25's
saturation, Robertson and Zaragoza 2009, with a kernel over positions, Lv and Zhai 2009). Without
one, a unit is worth the mean weight of its words, as the text uses them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .split import Unit, is_dense
from .words import words

REACH_TOKENS = 400  # how far a word of the query is felt: after that a third is left
SATURATION = 4.0  # so many occurrences near by are worth half of what any number is
OWN_SHARE = 0.2  # what a unit gains for holding the word itself
FULL_WORDS = 12  # a shorter unit is judged as if it had some words that say nothing

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Statistics:
    """What is counted over the whole text once: units, and in how many of them each word stands."""

    n_units: int
    n_holding: Counter[str]

    @classmethod
    def of(cls, bags: Iterable[Sequence[str]], only: frozenset[str] | None = None) -> Statistics:
        """Count; `only` limits what is remembered to these words."""
        n_units, n_holding = 0, Counter[str]()
        for bag in bags:
            n_units += 1
            found = set(bag)
            n_holding.update(found if only is None else found & only)
        return cls(n_units, n_holding)

    def rarity(self, word: str) -> float:
        """Inverse document frequency over the units, in the form that is never negative."""
        n = self.n_holding[word]
        return math.log(1 + (self.n_units - n + 0.5) / (n + 0.5))


class QueryScorer:
    """Scores for one query, between 0 and about 1."""

    def __init__(self, query: str, statistics: Statistics) -> None:
        known = [word for word in dict.fromkeys(words(query)) if statistics.n_holding[word]]
        self._index = {word: i for i, word in enumerate(known)}
        rarity = np.array([statistics.rarity(word) for word in known])
        self._weight = rarity / rarity.sum() if known else rarity

    @property
    def finds_nothing(self) -> bool:
        """Whether no word of the query stands anywhere in the text."""
        return not self._index

    def scores(self, text: str, units: Sequence[Unit], labels: Sequence[str]) -> Scores:
        """One for each unit; `labels` are the names of the speakers, '' where there is none."""
        counts = np.zeros((len(units), len(self._index)))
        for i, (unit, label) in enumerate(zip(units, labels, strict=True)):
            bag = words(
                text[unit.start : unit.end]
                if unit.is_first
                else f"{label} {text[unit.start : unit.end]}"
            )
            for word in bag:
                if (column := self._index.get(word)) is not None:
                    counts[i, column] = min(2.0, counts[i, column] + 1)
        lengths = np.array([rough_tokens(text, unit) for unit in units])
        near = _spread(counts, lengths)
        worth: Scores = (near / (near + SATURATION) + OWN_SHARE * (counts > 0)) @ self._weight
        return worth


class CentralScorer:
    """Scores without a query: how much a unit is about what the text is about."""

    def __init__(self, statistics: Statistics) -> None:
        self._weight = {
            word: math.log(1 + n) * statistics.rarity(word)
            for word, n in statistics.n_holding.items()
        }
        self._top = max(self._weight.values(), default=1.0)

    def scores(self, text: str, units: Sequence[Unit], labels: Sequence[str]) -> Scores:
        """One for each unit; `labels` play no part: who speaks says nothing of what about."""
        del labels
        return np.array([self._score(text[unit.start : unit.end]) for unit in units])

    def _score(self, sentence: str) -> float:
        bag = set(words(sentence))
        total = sum(self._weight.get(word, 0.0) for word in bag)
        return total / (self._top * max(FULL_WORDS, len(bag)))


def rough_tokens(text: str, unit: Unit) -> float:
    """Tokens of a unit without a tokenizer: four letters, or one and a half Han characters each."""
    per_token = 1.5 if is_dense(text, unit.start, unit.end) else 4.0
    return (unit.end - unit.start) / per_token


def _spread(counts: Scores, lengths: Scores) -> Scores:
    """Each column's counts spread by exp(-distance / reach) both ways, in one pass each."""
    n = len(counts)
    if n == 0:
        return counts
    middles = np.cumsum(lengths) - lengths / 2
    decays = np.exp(-np.diff(middles) / REACH_TOKENS)
    forward, backward = counts.copy(), counts.copy()
    for i in range(1, n):
        forward[i] += decays[i - 1] * forward[i - 1]
    for i in range(n - 2, -1, -1):
        backward[i] += decays[i] * backward[i + 1]
    spread: Scores = forward + backward - counts
    return spread
