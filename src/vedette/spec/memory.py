"""How much memory a model takes in llama.cpp, part by part and layer by layer.

Weights: the bytes of each layer's tensors, never an equal share. The embedding stays in the
machine's memory; a tied one is there twice when the output is computed on a GPU.
Cache: cells times what the layer keeps of a token. Each sequence has cells of its own, as with
`llama-server -np`, rounded up to 256; `window + batch` in a layer with a sliding window, none in
one that shares an earlier layer's cache. A recurrent state is there once, and once more for each
guess that may have to be undone.
Compute buffers follow the graph: attention, feed-forward or logits, whichever is largest, and the
mask.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vedette.errors import InputError
from vedette.models.ggml_types import CACHE_TYPES
from vedette.models.gguf_header import Tensor
from vedette.models.layers import LayerMemory
from vedette.spec.model_file import ModelFile

_CELL_STEP_TOKENS = 256
_FLOAT_BYTES = 4
# A graph for one batch holds so many rows of each kind at once (read off llama.cpp's own account).
_ATTENTION_ROWS = 5
_FEED_FORWARD_ROWS = 3
# The vocabulary's tables in memory with the file's own header, and llama.cpp's structures for a
# context: read off a process.
_BYTES_PER_TOKEN_TEXT = 386
_PROGRAM_BYTES = 3 << 20
# Types of which a CPU keeps a copy in another order, if it is an x86 with AVX2 or an ARM with NEON.
_REPACKED_TYPES = frozenset({"Q4_0", "Q4_K", "IQ4_NL", "Q2_K"})
_REPACKED_ROWS = 8
# An activation quantised for a matrix product, bytes a value at most (Q8_K: 292 for 256).
_QUANTISED_BYTES = 292 / 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """How a model is run.

    Each of `sequences` has room for `context_tokens`; `outputs` tokens of a batch of
    `batch_tokens` have their logits computed; `undo_tokens` guesses may have to be undone.
    """

    context_tokens: int
    sequences: int = 1
    key_type: str = "f16"
    value_type: str = "f16"
    batch_tokens: int = 512
    outputs: int = 1
    undo_tokens: int = 0
    flash_attention: bool = True

    def __post_init__(self) -> None:
        for name in ("context_tokens", "sequences", "batch_tokens", "outputs"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, not {getattr(self, name)}")
        for kv_type in (self.key_type, self.value_type):
            if kv_type not in CACHE_TYPES:
                raise InputError(
                    f"a KV cache cannot be kept in {kv_type!r}",
                    hint=f"choose one of {', '.join(CACHE_TYPES)}",
                )
        if self.value_type not in ("f16", "bf16", "f32") and not self.flash_attention:
            raise InputError("a quantised cache of values needs flash attention")

    @property
    def cells(self) -> int:
        """Cells that a sequence has in a layer that remembers everything."""
        return _padded(self.context_tokens)


def cache_bytes(layer: LayerMemory, setup: Setup, window_tokens: int | None) -> int:
    """Cells and states of one layer."""
    cells = setup.cells
    if layer.windowed and window_tokens:
        cells = min(cells, _padded(window_tokens + setup.batch_tokens))
    return setup.sequences * (
        cells * CACHE_TYPES[setup.key_type].bytes_for(layer.key_values)
        + cells * CACHE_TYPES[setup.value_type].bytes_for(layer.value_values)
        + layer.state_bytes * (1 + setup.undo_tokens)
    )


def head_cache_bytes(model: ModelFile, setup: Setup) -> int:
    """The cache of the layers for multi-token prediction."""
    if model.head_memory is None:
        return 0
    return len(model.head_layers) * cache_bytes(model.head_memory, setup, model.window_tokens)


def compute_bytes(model: ModelFile, setup: Setup) -> int:
    """The buffer in which a batch is computed."""
    width, batch = model.embedding_length, setup.batch_tokens
    key_values = max((layer.key_values for layer in model.memory), default=0)
    # Without flash attention the scores of all heads are there, and keys and values beside them.
    flash = setup.flash_attention
    scores = 0 if flash else model.n_heads * setup.cells + 2 * key_values
    mask_bytes = batch * setup.cells * (2 if flash else _FLOAT_BYTES)
    attention = batch * (scores + _ATTENTION_ROWS * width)
    feed_forward = batch * _FEED_FORWARD_ROWS * (model.feed_forward_length + width)
    logits = setup.outputs * model.vocab_tokens + batch * width
    return mask_bytes + _FLOAT_BYTES * max(attention, feed_forward, logits)


def work_bytes(model: ModelFile, setup: Setup) -> int:
    """What a CPU converts its inputs into: activations quantised, or attention scores as F16."""
    widest = max(model.feed_forward_length, model.embedding_length)
    activations = int(setup.batch_tokens * widest * _QUANTISED_BYTES)
    scores = 0 if setup.flash_attention else 2 * model.n_heads * setup.cells * setup.batch_tokens
    return max(activations, scores)


def output_bytes(model: ModelFile, setup: Setup) -> int:
    """Logits that are handed over, a row for each sequence or wanted output."""
    return max(setup.sequences, setup.outputs) * model.vocab_tokens * _FLOAT_BYTES


def tables_bytes(model: ModelFile) -> int:
    """The vocabulary and what else a loaded model takes beside its tensors."""
    return _BYTES_PER_TOKEN_TEXT * model.vocab_tokens + _PROGRAM_BYTES


def repacked_bytes(tensors: Iterable[Tensor]) -> int:
    """Copies that a CPU makes of these tensors; with mapped files the originals stay resident.

    Matrices of the layers and of the output, never the embedding.
    """
    return sum(
        tensor.size_bytes
        for tensor in tensors
        if tensor.type.name in _REPACKED_TYPES
        and len(tensor.shape) > 1
        and tensor.shape[1] % _REPACKED_ROWS == 0
        and not tensor.name.startswith("token_embd.")
    )


def _padded(tokens: int) -> int:
    return -(-tokens // _CELL_STEP_TOKENS) * _CELL_STEP_TOKENS
