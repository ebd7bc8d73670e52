"""How much memory a model needs at a given context: an estimate, said to be one.

Counted: all tensors, the cells of the cache, the states of recurrent layers. Not counted: compute
buffers and the library itself, some tens to hundreds of megabytes that depend on the batch.
"""

from __future__ import annotations

from dataclasses import dataclass

from vedette.errors import InputError
from vedette.models.ggml_types import CACHE_TYPES
from vedette.models.gguf_facts import Facts

_CELL_STEP_TOKENS = 256  # llama.cpp rounds the cache up to this


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEstimate:
    """The parts of it, in bytes."""

    weights_bytes: int
    cache_bytes: int
    state_bytes: int

    @property
    def total_bytes(self) -> int:
        """All of it."""
        return self.weights_bytes + self.cache_bytes + self.state_bytes


def estimate_memory(
    facts: Facts,
    context_tokens: int,
    kv_type: str = "f16",
    *,
    n_sequences: int = 1,
    ubatch_tokens: int = 512,
) -> MemoryEstimate:
    """Memory for a cache of `context_tokens` cells that `n_sequences` share.

    Raises `InputError` for a `kv_type` that a cache cannot have, or counts below one.
    """
    if min(context_tokens, n_sequences, ubatch_tokens) < 1:
        raise InputError("context, sequences and batch must be at least 1")
    packing = CACHE_TYPES.get(kv_type.lower())
    if packing is None:
        raise InputError(
            f"a KV cache cannot be kept in {kv_type!r}",
            hint=f"choose one of {', '.join(CACHE_TYPES)}",
        )
    all_cells = _padded(context_tokens)
    window_tokens = facts.sliding_window_tokens or 0
    window_cells = _padded(min(all_cells, window_tokens * n_sequences + ubatch_tokens))
    cache_bytes = state_bytes = 0
    for layer in facts.layers:
        cells = window_cells if layer.windowed else all_cells
        cache_bytes += cells * packing.bytes_for(layer.key_values)
        cache_bytes += cells * packing.bytes_for(layer.value_values)
        state_bytes += layer.state_bytes * n_sequences
    return MemoryEstimate(
        weights_bytes=facts.weights_bytes, cache_bytes=cache_bytes, state_bytes=state_bytes
    )


def memory_bytes(facts: Facts, context_tokens: int, kv_type: str = "f16") -> int:
    """The total of `estimate_memory` for one sequence."""
    return estimate_memory(facts, context_tokens, kv_type).total_bytes


def _padded(cells: int) -> int:
    return -(-cells // _CELL_STEP_TOKENS) * _CELL_STEP_TOKENS
