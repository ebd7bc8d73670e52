"""What goes into one `llama_decode`: tokens of many sequences, or vectors in their place."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import llama_cpp
import numpy as np
from numpy.typing import NDArray


class Batch:
    """Arrays for at most `capacity` tokens, each belonging to one sequence.

    The arrays are ours and stay alive with this object; llama.cpp only reads them.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.n_tokens = 0
        self._token: NDArray[np.int32] = np.zeros(capacity, np.int32)
        self._pos: NDArray[np.int32] = np.zeros(capacity, np.int32)
        self._n_seq_id: NDArray[np.int32] = np.ones(capacity, np.int32)
        self._seq_id: NDArray[np.int32] = np.zeros(capacity, np.int32)
        self._wanted: NDArray[np.int8] = np.zeros(capacity, np.int8)
        # seq_id is an array of pointers; pointer i shows at element i of the flat array.
        start = self._seq_id.ctypes.data
        self._seq_id_pointers: NDArray[np.uint64] = (
            start + np.arange(capacity, dtype=np.uint64) * self._seq_id.itemsize
        ).astype(np.uint64)
        self.struct = llama_cpp.llama_batch()
        self.struct.embd = None
        self.struct.token = _pointer(self._token, llama_cpp.llama_token)
        self.struct.pos = _pointer(self._pos, llama_cpp.llama_pos)
        self.struct.n_seq_id = _pointer(self._n_seq_id, ctypes.c_int32)
        self.struct.logits = _pointer(self._wanted, ctypes.c_int8)
        self.struct.seq_id = ctypes.cast(
            self._seq_id_pointers.ctypes.data,
            ctypes.POINTER(ctypes.POINTER(llama_cpp.llama_seq_id)),
        )

    def clear(self) -> None:
        """Make it empty."""
        self.n_tokens = 0

    def add(self, seq_id: int, tokens: Sequence[int], start_pos: int, n_wanted: int) -> int:
        """Append consecutive tokens of one sequence; logits are wanted for the last `n_wanted`.

        Returns the batch index of the first token. The caller keeps within `capacity`.
        """
        first, n = self.n_tokens, len(tokens)
        end = first + n
        self._token[first:end] = tokens
        self._pos[first:end] = np.arange(start_pos, start_pos + n, dtype=np.int32)
        self._seq_id[first:end] = seq_id
        self._wanted[first:end] = 0
        if n_wanted:
            self._wanted[end - n_wanted : end] = 1
        self.n_tokens = end
        self.struct.n_tokens = end
        return first


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """What a model is shown of a picture, or of a tile of it: (n, width), a row for each position.

    With `is_whole` its positions see each other, the later ones too: all go into one step.
    """

    values: NDArray[np.float32]
    is_whole: bool

    def __len__(self) -> int:
        return len(self.values)


class VectorBatch:
    """Vectors instead of tokens at consecutive positions of one sequence; no logits are wanted."""

    def __init__(self, seq_id: int, values: NDArray[np.float32], start_pos: int) -> None:
        n = len(values)
        self._values = np.ascontiguousarray(values, np.float32)
        self._pos = np.arange(start_pos, start_pos + n, dtype=np.int32)
        self._n_seq_id = np.ones(n, np.int32)
        self._seq_id = np.full(1, seq_id, np.int32)
        self._seq_id_pointers = np.full(n, self._seq_id.ctypes.data, np.uint64)
        self._wanted = np.zeros(n, np.int8)
        self.struct = llama_cpp.llama_batch()
        self.struct.n_tokens = n
        self.struct.token = None
        self.struct.embd = _pointer(self._values, ctypes.c_float)
        self.struct.pos = _pointer(self._pos, llama_cpp.llama_pos)
        self.struct.n_seq_id = _pointer(self._n_seq_id, ctypes.c_int32)
        self.struct.logits = _pointer(self._wanted, ctypes.c_int8)
        self.struct.seq_id = ctypes.cast(
            self._seq_id_pointers.ctypes.data,
            ctypes.POINTER(ctypes.POINTER(llama_cpp.llama_seq_id)),
        )


def _pointer(array: NDArray[np.generic], kind: type) -> object:
    return ctypes.cast(array.ctypes.data, ctypes.POINTER(kind))
