"""Small operations on one row of logits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from vedette.errors import ConstraintFailed

Row = NDArray[np.float32]  # (n_vocab,)
MaskRow = NDArray[np.int32]  # (n_vocab / 32,), one bit per token, low bit first


def _allowed(mask: MaskRow, n_vocab: int) -> NDArray[np.bool_]:
    bits = np.unpackbits(mask.view(np.uint8), bitorder="little")[:n_vocab]
    return bits.view(np.bool_)


def greedy(row: Row, mask: MaskRow | None) -> int:
    """The likeliest token that the mask allows.

    The likeliest of all is nearly always allowed, and then one bit decides.
    """
    best = int(row.argmax())
    if mask is None or (int(mask[best >> 5]) >> (best & 31)) & 1:
        return best
    allowed = np.flatnonzero(_allowed(mask, row.size))
    return int(allowed[row[allowed].argmax()])


def forbid(mask: MaskRow, tokens: Iterable[int]) -> None:
    """Take tokens out of a mask. Raises `ConstraintFailed` if none is left."""
    words = mask.view(np.uint32)
    for token in tokens:
        words[token >> 5] &= ~np.uint32(1 << (token & 31))
    if not words.any():
        raise ConstraintFailed("the answer does not fit the schema, and no other can be written")


def mask_in_place(row: Row, mask: MaskRow | None) -> None:
    """Make every token that the mask forbids impossible."""
    if mask is not None:
        row[~_allowed(mask, row.size)] = -np.inf


def likeliest(row: Row, n: int) -> list[int]:
    """The `n` likeliest tokens, the likeliest first; of equal ones the lower number."""
    n = min(n, row.size)
    found = np.argpartition(row, -n)[-n:]
    return [int(token) for token in found[np.lexsort((found, -row[found]))]]


def log_softmax_at(row: Row, tokens: Sequence[int]) -> list[float]:
    """Log-probabilities of some tokens under the whole vocabulary (temperature 1, unmasked)."""
    peak = float(row.max())
    total = float(np.exp(row - peak).sum(dtype=np.float64))
    return [float(row[token]) - peak - float(np.log(total)) for token in tokens]
