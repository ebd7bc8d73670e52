"""Finds equal and similar rows in one pass, each compared with representatives only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Literal

import numpy as np

from vedette.errors import InputError

from .amounts import agreement
from .clusters import Clusters, GreyPair, Place
from .index import Found, Index, ShingleIndex, WordIndex
from .minhash import Bands
from .ragged import Ragged, joined
from .shingles import U64, Shingles

GREY_PAIRS_PER_ROW = 3
THRESHOLDS = {"shingles": 0.8, "words": 0.7}
GREY_WIDTH = 0.3
_DIGEST_BYTES = 16
_ALONE = -1


@dataclass(frozen=True)
class Matching:
    """When two rows are alike.

    `by` shingles: the Jaccard similarity of their sets of shingles. `by` words: the cosine of their
    words, rare ones weighing more, for short records whose order and filler words differ.
    A row joins the representative that it is most similar to, if the similarity is `threshold`
    (None: the default of `by`) or more. From `grey_from` (None: nothing) up to there a pair is
    grey. Raises `InputError` for numbers out of range.
    """

    by: Literal["shingles", "words"] = "shingles"
    shingles: Shingles = field(default_factory=Shingles)
    threshold: float | None = None
    grey_from: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.limit <= 1:
            raise InputError(f"the threshold is {self.limit:g}; it must be over 0 and at most 1")
        if not 0 < self.floor <= self.limit:
            raise InputError(
                f"the grey band begins at {self.floor:g}; it must be over 0 and not over the "
                f"threshold, {self.limit:g}"
            )
        if self.by == "words" and self.shingles != Shingles():
            raise InputError("shingles are given, but rows are compared by words")

    @property
    def limit(self) -> float:
        """The threshold, its default filled in."""
        return THRESHOLDS[self.by] if self.threshold is None else self.threshold

    @property
    def floor(self) -> float:
        """The least similarity that counts for anything."""
        return self.limit if self.grey_from is None else self.grey_from

    def sets(self, texts: Sequence[str]) -> Ragged:
        """What is compared of the texts."""
        shingles = self.shingles if self.by == "shingles" else Shingles("words", 1)
        return shingles(texts)

    def with_grey(self, low: float | None = None) -> Matching:
        """The same with a grey band; it begins at `low`, by default `GREY_WIDTH` lower."""
        if low is None:
            low = max(self.limit - GREY_WIDTH, self.limit / 2)
        return replace(self, grey_from=round(low, 4))


class Finder:
    """Takes normalised texts in order, then says which are alike.

    Of each different text it keeps a hash, its set and its band keys (some 500 bytes for a short
    one), no text. Blank texts are like no other, not even like each other.
    """

    def __init__(self, matching: Matching) -> None:
        self._matching = matching
        self._bands = Bands(matching.floor)
        self._node_by_key: dict[tuple[bytes, float | None], int] = {}
        self._node_of_row: list[int] = []
        self._first_row: list[int] = []
        self._sets: list[Ragged] = []
        self._keys: list[U64] = []
        self._amounts: list[float | None] = []

    def add(self, texts: Sequence[str], amounts: Sequence[float | None] = ()) -> list[bool]:
        """Take more rows; says of each whether it is a new one (a blank one always is).

        Rows with `amounts` are equal only if these are too, and the less alike, the further their
        amounts lie apart.
        """
        new: list[str] = []
        of_rows = amounts or [None] * len(texts)
        is_new = [self._take(*row, new) for row in zip(texts, of_rows, strict=True)]
        if new:
            sets = self._matching.sets(new)
            self._sets.append(sets)
            if self._matching.by == "shingles":
                self._keys.append(self._bands.keys(sets))
        return is_new

    def _take(self, text: str, amount: float | None, new: list[str]) -> bool:
        row = len(self._node_of_row)
        if not text.strip():
            self._node_of_row.append(_ALONE)
            return True
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()
        node = self._node_by_key.setdefault((digest, amount), len(self._first_row))
        self._node_of_row.append(node)
        if node < len(self._first_row):
            return False
        self._first_row.append(row)
        self._amounts.append(amount)
        new.append(text)
        return True

    def clusters(self) -> Clusters:
        """The place of every row taken so far."""
        if not self._first_row:
            return Clusters(tuple(Place(row) for row in range(len(self._node_of_row))))
        index = self._index()
        floor, limit = self._matching.floor, self._matching.limit
        leaders: list[tuple[int, float]] = []
        grey: list[GreyPair] = []
        for node, row in enumerate(self._first_row):
            found = self._agreeing(node, index.near(node, floor))
            leader, score = max(found, key=lambda pair: pair[1], default=(node, 0.0))
            if score >= limit:
                leaders.append((leader, score))
                continue
            leaders.append((node, 1.0))
            index.add(node)
            most = sorted(found, key=lambda pair: (-pair[1], pair[0]))[:GREY_PAIRS_PER_ROW]
            grey += [GreyPair(self._first_row[other], row, score) for other, score in most]
        places = (self._place(row, node, leaders) for row, node in enumerate(self._node_of_row))
        return Clusters(tuple(places), tuple(grey), len(index.full))

    def _agreeing(self, node: int, found: Found) -> Found:
        """The similar representatives, their similarity lowered by how far the amounts differ."""
        own = self._amounts[node]
        lowered = ((other, s * agreement(own, self._amounts[other])) for other, s in found)
        return [(other, s) for other, s in lowered if s >= self._matching.floor]

    def _index(self) -> Index:
        sets = joined(self._sets)
        if self._matching.by == "words":
            return WordIndex(sets)
        return ShingleIndex(sets, np.concatenate(self._keys))

    def _place(self, row: int, node: int, leaders: list[tuple[int, float]]) -> Place:
        if node == _ALONE:
            return Place(row)
        leader, score = leaders[node]
        representative = self._first_row[leader]
        if representative == row:
            return Place(row)
        if leader == node:
            return Place(representative, "exact")
        return Place(representative, "near", round(score, 4))
