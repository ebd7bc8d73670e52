"""MinHash signatures in bands (Broder 1997; banding as in Leskovec et al., Mining of Massive
Datasets, chapter 3): two sets share a band the more often, the more alike they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .ragged import Ragged
from .shingles import U64, mixed

N_HASHES = 128
MISSED = 0.01  # the share of pairs right at the threshold that may share no band
_SEED = 20260101


@dataclass(frozen=True)
class Bands:
    """Band keys for sets that are to be found when their Jaccard similarity is `floor` or more."""

    floor: float

    @cached_property
    def rows(self) -> int:
        """Hashes in a band: as many as leave at most `MISSED` of the pairs at `floor` unseen."""
        for rows in range(N_HASHES, 1, -1):
            if (1 - self.floor**rows) ** (N_HASHES // rows) <= MISSED:
                return rows
        return 1

    @property
    def count(self) -> int:
        """How many bands."""
        return N_HASHES // self.rows

    @cached_property
    def _functions(self) -> tuple[U64, U64]:
        # Multiply-add-shift on 32-bit keys is 2-independent (Dietzfelbinger 1996).
        numbers = np.random.default_rng(_SEED).integers(
            0, 2**64, size=(2, N_HASHES), dtype=np.uint64
        )
        return numbers[0] | np.uint64(1), numbers[1]

    def keys(self, sets: Ragged) -> U64:
        """(n_rows, n_bands): two sets share a band where the keys are equal."""
        factors, terms = self._functions
        values = sets.values.astype(np.uint64)
        starts = sets.starts[:-1]
        keys = np.zeros((len(sets), self.count), dtype=np.uint64)
        for band in range(self.count):
            key = np.zeros(len(sets), dtype=np.uint64)
            for n in range(band * self.rows, (band + 1) * self.rows):
                hashes = (values * factors[n] + terms[n]) >> np.uint64(32)
                key = mixed(key + np.minimum.reduceat(hashes, starts))
            keys[:, band] = key
        return keys


def buckets_of(keys: U64) -> NDArray[np.int32]:
    """The number of the bucket of each row in each band; -1 where no other row is in it."""
    buckets = np.full(keys.shape, -1, dtype=np.int32)
    used = 0
    for band in range(keys.shape[1]):
        _, number, count = np.unique(keys[:, band], return_inverse=True, return_counts=True)
        is_shared = count > 1
        names = np.full(len(count), -1, dtype=np.int32)
        names[is_shared] = used + np.arange(int(is_shared.sum()), dtype=np.int32)
        used += int(is_shared.sum())
        buckets[:, band] = names[number]
    return buckets
