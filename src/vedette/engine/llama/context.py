"""A KV cache with its compute buffers: decode, read logits, share and drop cells."""

from __future__ import annotations

from dataclasses import dataclass

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from vedette.errors import EngineFailed

from . import library
from .adapter import NO_ADAPTERS, AdapterSet
from .batch import Batch, VectorBatch, Vectors
from .model import Model

# ggml_type numbers
KV_TYPES = {
    "f32": 0,
    "f16": 1,
    "bf16": 30,
    "q8_0": 8,
    "q5_1": 7,
    "q5_0": 6,
    "q4_1": 3,
    "q4_0": 2,
    "iq4_nl": 20,
}

MOST_PADDING = 8
"""A batch may be filled up by so many tokens of a sequence that nobody asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSpec:
    """What is allocated: `cells` of KV shared by `n_seq` sequences, `batch_tokens` per step."""

    cells: int = 8192
    n_seq: int = 48
    batch_tokens: int = 256
    n_outputs: int = 64
    threads: int = 1
    kv_type: str = "f16"


class Context:
    """One unified cache: sequences share cells (`share`) instead of copying them.

    Not thread-safe; the engine's loop is its only user. Raises `EngineFailed` when llama.cpp
    cannot allocate it.
    """

    def __init__(self, model: Model, spec: ContextSpec) -> None:
        self.model = model
        self.spec = spec
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = spec.cells + MOST_PADDING
        params.n_batch = params.n_ubatch = spec.batch_tokens + MOST_PADDING
        self.padding_id = spec.n_seq
        params.n_seq_max = spec.n_seq + 1
        params.n_outputs_max = max(spec.n_outputs, spec.n_seq + 1)
        params.n_threads = params.n_threads_batch = spec.threads
        params.kv_unified = True
        # A windowed cache never recycles shared cells, so kept prefixes would fill it up.
        params.swa_full = True
        params.type_k = params.type_v = KV_TYPES[spec.kv_type]
        params.flash_attn_type = self._flash_attention(spec)
        params.no_perf = True
        self.pointer = llama_cpp.llama_init_from_model(model.pointer, params)
        if not self.pointer:
            raise EngineFailed(
                f"llama.cpp cannot make a context of {spec.cells} cells: "
                f"{library.last_complaint() or 'no reason given'}",
                hint="ask for a smaller context",
            )
        self.memory = llama_cpp.llama_get_memory(self.pointer)
        self.cells = spec.cells
        self.adapters = NO_ADAPTERS
        self.drops_suffix = model.memory_kind == "full"
        # A windowed cache keeps all its cells here (swa_full), so its latest tokens can go too.
        self.rolls_back = model.memory_kind in ("full", "sliding")
        self._window_tokens = model.window_tokens

    @staticmethod
    def _flash_attention(spec: ContextSpec) -> int:
        """Off on a CPU: there it is slower for many short sequences, and its rounding depends on
        who else is in the batch. A quantised cache needs it; a GPU decides for itself."""
        if spec.kv_type not in ("f32", "f16", "bf16"):
            return int(llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED)
        if llama_cpp.llama_supports_gpu_offload():
            return int(llama_cpp.LLAMA_FLASH_ATTN_TYPE_AUTO)
        return int(llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED)

    def adapt(self, adapters: AdapterSet) -> bool:
        """Compute under these adapters from now on; whether that is a change.

        A change is dear: at the next `decode` llama.cpp plans all its computations anew. What is
        in the cache stays as it was computed.
        """
        if adapters == self.adapters:
            return False
        adapters.apply(self.pointer)
        self.adapters = adapters
        return True

    def show(self, seq_id: int, shown: Vectors, start_pos: int) -> None:
        """Put vectors into the cache where tokens would stand. Raises `EngineFailed`."""
        if shown.is_whole:
            llama_cpp.llama_set_causal_attn(self.pointer, False)
        try:
            self.decode(VectorBatch(seq_id, shown.values, start_pos))
        finally:
            if shown.is_whole:
                llama_cpp.llama_set_causal_attn(self.pointer, True)

    def decode(self, batch: Batch | VectorBatch) -> None:
        """Run the batch; its tokens are in the cache afterwards. Raises `EngineFailed`."""
        status = llama_cpp.llama_decode(self.pointer, batch.struct)
        if status != 0:
            reason = "no free cells" if status == 1 else library.last_complaint()
            raise EngineFailed(f"llama_decode returned {status}: {reason or 'no reason given'}")

    def synchronize(self) -> None:
        """Wait until what `decode` began elsewhere, as on a GPU, is done."""
        llama_cpp.llama_synchronize(self.pointer)

    def logits(self, n_outputs: int) -> NDArray[np.float32]:
        """View of the last step's logits, a row per wanted token in batch order.

        Writable, and valid until the next `decode`.  # (n_outputs, n_vocab)
        """
        pointer = llama_cpp.llama_get_logits(self.pointer)
        return np.ctypeslib.as_array(pointer, shape=(n_outputs, self.model.n_vocab))

    def share(self, source: int, target: int, n_tokens: int) -> None:
        """Let the empty `target` start with the first `n_tokens` of `source`.

        Recurrent state cannot be cut: there the source must be exactly that long (`holds`).
        """
        end = n_tokens if self.drops_suffix else -1
        llama_cpp.llama_memory_seq_cp(self.memory, source, target, 0 if end >= 0 else -1, end)

    def holds(self, seq_id: int, n_tokens: int) -> bool:
        """Whether a sequence's first `n_tokens` can still be stood upon.

        A sliding window may have let early cells go; what follows needs a whole window before
        it, and llama.cpp does not check.
        """
        first = int(llama_cpp.llama_memory_seq_pos_min(self.memory, seq_id))
        last = int(llama_cpp.llama_memory_seq_pos_max(self.memory, seq_id))
        if not self.drops_suffix and last != n_tokens - 1:
            return False
        if self._window_tokens:
            return first == 0 or 0 < first <= n_tokens - self._window_tokens + 1
        return last >= n_tokens - 1

    def drop(self, seq_id: int) -> None:
        """Forget a whole sequence; cells that others share stay."""
        llama_cpp.llama_memory_seq_rm(self.memory, seq_id, -1, -1)

    def truncate(self, seq_id: int, n_tokens: int) -> bool:
        """Keep the first `n_tokens`; False where the memory kind cannot."""
        return bool(llama_cpp.llama_memory_seq_rm(self.memory, seq_id, n_tokens, -1))

    def close(self) -> None:
        """Free the cache."""
        pointer, self.pointer = self.pointer, None
        if pointer:
            llama_cpp.llama_free(pointer)
