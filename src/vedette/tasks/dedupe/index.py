"""Where the representatives are found that a row may be like, and how alike the two are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from heapq import nlargest
from itertools import chain
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .minhash import buckets_of
from .ragged import Ragged
from .shingles import U64

MOST_IN_BUCKET = 500
"""A bucket holds the first so many representatives: rows that all share a phrase would otherwise
be compared each with each."""

MOST_COMPARED = 100
"""A row is compared with the representatives that it shares most buckets with, at most these."""

Found = list[tuple[int, float]]
"""Representatives and their similarity to a row, from 0 to 1."""


class Index(Protocol):
    """Representatives so far. Rows are numbers; they come in order."""

    @property
    def full(self) -> set[int]:
        """The buckets that a representative found full: others may be missed through these."""
        ...

    def near(self, row: int, floor: float) -> Found:
        """The representatives that were found and are at least this similar, in order."""
        ...

    def add(self, row: int) -> None:
        """Make the row a representative."""
        ...


class _Buckets:
    """Representatives by the buckets that they are in."""

    def __init__(self) -> None:
        self.full: set[int] = set()
        self._rows: dict[int, list[int]] = {}

    def add(self, row: int, names: Sequence[int]) -> None:
        for name in names:
            rows = self._rows.setdefault(name, [])
            if len(rows) < MOST_IN_BUCKET:
                rows.append(row)
            else:
                self.full.add(name)

    def found(self, names: Sequence[int]) -> list[int]:
        """Representatives in these buckets, in order; of too many those that are in most."""
        shared = Counter(chain.from_iterable(self._rows.get(name, ()) for name in names))
        if len(shared) <= MOST_COMPARED:
            return sorted(shared)
        return sorted(nlargest(MOST_COMPARED, shared, key=lambda row: (shared[row], -row)))


class ShingleIndex:
    """Implements `Index`: rows that share a MinHash band, by the Jaccard similarity of their sets.

    The bands only find candidates; the similarity is that of the whole sets, not an estimate.
    """

    def __init__(self, sets: Ragged, keys: U64) -> None:
        self._sets = sets
        self._names = buckets_of(keys)
        self._is_alone: NDArray[np.bool_] = np.all(self._names < 0, axis=1)
        self._buckets = _Buckets()

    @property
    def full(self) -> set[int]:
        """See `Index`."""
        return self._buckets.full

    def near(self, row: int, floor: float) -> Found:
        """See `Index`."""
        if self._is_alone[row]:
            return []
        others = self._buckets.found(self._shared(row))
        if not others:
            return []
        similar = self._sets.jaccard(row, others)
        return [(others[i], float(similar[i])) for i in np.flatnonzero(similar >= floor)]

    def add(self, row: int) -> None:
        """See `Index`."""
        if not self._is_alone[row]:
            self._buckets.add(row, self._shared(row))

    def _shared(self, row: int) -> list[int]:
        names: list[int] = self._names[row][self._names[row] >= 0].tolist()
        return names


class WordIndex:
    """Implements `Index`: rows that share a rare word, by the cosine of their weighed words.

    A word weighs log(1 + n / rows that have it), as in BM25 (Robertson and Zaragoza 2009)
    without term frequencies: a shared part number says more than a shared 'software'. Each row is
    found by its `RAREST` rarest words.
    """

    RAREST = 6

    def __init__(self, sets: Ragged) -> None:
        self._sets = sets
        _, word, count = np.unique(sets.values, return_inverse=True, return_counts=True)
        weights: NDArray[np.float64] = np.log1p(len(sets) / count)
        self._words = word
        self._is_shared = count > 1
        self._weights = weights
        self._norms = np.sqrt(np.add.reduceat(weights[word] ** 2, sets.starts[:-1]))
        self._buckets = _Buckets()
        self._own: dict[int, set[int]] = {}

    @property
    def full(self) -> set[int]:
        """See `Index`."""
        return self._buckets.full

    def near(self, row: int, floor: float) -> Found:
        """See `Index`."""
        found = self._buckets.found(self._rare(row))
        if not found:
            return []
        mine = set(self._ids(row))
        similar = [(other, self._cosine(row, mine, other, self._own[other])) for other in found]
        return [(other, score) for other, score in similar if score >= floor]

    def add(self, row: int) -> None:
        """See `Index`."""
        rare = self._rare(row)
        if rare:
            self._own[row] = set(self._ids(row))
            self._buckets.add(row, rare)

    def similarity(self, row: int, other: int) -> float:
        """The cosine of two rows, found or not."""
        return self._cosine(row, set(self._ids(row)), other, set(self._ids(other)))

    def _cosine(self, row: int, mine: set[int], other: int, theirs: set[int]) -> float:
        shared = sum(self._weights[word] ** 2 for word in mine & theirs)
        return min(1.0, float(shared / (self._norms[row] * self._norms[other])))

    def _ids(self, row: int) -> list[int]:
        ids: list[int] = self._words[self._sets.starts[row] : self._sets.starts[row + 1]].tolist()
        return ids

    def _rare(self, row: int) -> list[int]:
        shared = [word for word in self._ids(row) if self._is_shared[word]]
        return sorted(shared, key=lambda word: (-self._weights[word], word))[: self.RAREST]
