"""Many small sorted sets of numbers in two arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

U32 = NDArray[np.uint32]
I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Ragged:
    """Row i is `values[starts[i]:starts[i + 1]]`: sorted, each value once, never empty.

    `values`: (n_values,) uint32. `starts`: (n_rows + 1,) int64.
    """

    values: U32
    starts: I64

    def __len__(self) -> int:
        return len(self.starts) - 1

    def row(self, index: int) -> U32:
        """One set."""
        return self.values[self.starts[index] : self.starts[index + 1]]

    def jaccard(self, index: int, others: Sequence[int]) -> NDArray[np.float64]:
        """|A and B| / |A or B| of a row with each of the others, (n_others,)."""
        mine = self.row(index)
        rows = [self.row(other) for other in others]
        sizes = np.array([len(row) for row in rows])
        theirs = np.concatenate(rows)
        at = np.minimum(np.searchsorted(mine, theirs), len(mine) - 1)
        begins = np.concatenate(([0], np.cumsum(sizes)[:-1]))
        shared = np.add.reduceat((mine[at] == theirs).astype(np.int64), begins)
        return np.asarray(shared / (len(mine) + sizes - shared), dtype=np.float64)


def unique_rows(values: U32, lengths: I64) -> Ragged:
    """Rows of these lengths, one after the other, each sorted and without repeats."""
    rows = np.repeat(np.arange(len(lengths), dtype=np.uint64), lengths)
    # Row and value in one number: a plain sort is several times faster than one by two keys.
    keys = np.sort(rows << np.uint64(32) | values.astype(np.uint64))
    first = np.ones(len(keys), dtype=bool)
    first[1:] = keys[1:] != keys[:-1]
    keys = keys[first]
    counts = np.bincount((keys >> np.uint64(32)).astype(np.int64), minlength=len(lengths))
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    return Ragged((keys & np.uint64(0xFFFFFFFF)).astype(np.uint32), starts)


def joined(parts: Sequence[Ragged]) -> Ragged:
    """The rows of all parts."""
    if not parts:
        return Ragged(np.empty(0, np.uint32), np.zeros(1, np.int64))
    offsets = np.cumsum([0, *(len(part.values) for part in parts)])
    starts = [part.starts[:-1] + offset for part, offset in zip(parts, offsets, strict=False)]
    return Ragged(
        np.concatenate([part.values for part in parts]), np.concatenate([*starts, offsets[-1:]])
    )
