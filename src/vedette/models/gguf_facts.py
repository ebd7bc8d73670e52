"""What a GGUF file says about its model, as facts with units."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from vedette.models.gguf_header import Header, LongList, read_header
from vedette.models.layers import LayerMemory, MemoryKind, layer_memory
from vedette.models.metadata import Metadata

# The file's own label of its mix of types, by number.
FILE_TYPES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K",
    11: "Q3_K_S", 12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S",
    17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS",
    23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M",
    30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4", 39: "NVFP4",
    40: "Q1_0",
}  # fmt: skip

# A chat format is told by the mark that opens its turns; the first that fits counts.
_CHAT_MARKS = (
    ("chatml", "<|im_start|>"),
    ("llama-3", "<|start_header_id|>"),
    ("gemma", "<start_of_turn>"),
    ("harmony", "<|channel|>"),
    ("phi", "<|assistant|>"),
    ("deepseek", "<｜Assistant｜>"),
    ("command-r", "<|START_OF_TURN_TOKEN|>"),
    ("mistral", "[INST]"),
)


@dataclass(frozen=True, slots=True)
class TypeShare:
    """How much of a model is stored in one tensor type."""

    type: str
    n_tensors: int
    n_values: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokenizer:
    """The tokenizer's kind; `vocab_tokens` is 0 if the file does not say."""

    model: str | None
    pre: str | None
    vocab_tokens: int
    bos_id: int | None
    eos_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rope:
    """Rotary position settings, as far as the file has them."""

    freq_base: float | None
    dimensions: int | None
    scaling: str | None
    scaling_factor: float | None
    original_context_tokens: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All of it. `context_tokens` is the model's label, not what was or should be allocated."""

    path: Path
    file_bytes: int
    gguf_version: int
    architecture: str
    name: str | None
    licence: str | None
    file_type: str | None
    n_parameters: int
    quantisation: tuple[TypeShare, ...]
    context_tokens: int | None
    embedding_length: int | None
    n_layers: int
    heads: tuple[int, ...]
    kv_heads: tuple[int, ...]
    experts: int | None
    experts_used: int | None
    tokenizer: Tokenizer
    chat_template: str | None
    chat_format: str | None
    rope: Rope
    sliding_window_tokens: int | None
    memory_kind: MemoryKind
    memory_decided_from: str
    layers: tuple[LayerMemory, ...]
    split: tuple[int, int] | None

    @property
    def weights_bytes(self) -> int:
        """Bytes of all tensors."""
        return sum(share.size_bytes for share in self.quantisation)


def read_facts(path: Path) -> Facts:
    """Read a GGUF's header; some tenths of a second for large vocabularies.

    Raises `FileError` if the file cannot be read, `ModelCorrupt` in one sentence if it is not a
    sound and complete GGUF.
    """
    header = read_header(path)
    meta = Metadata(path, header.metadata)
    layers = layer_memory(meta)
    template = meta.text("tokenizer.chat_template")
    file_type = meta.count("general.file_type")
    return Facts(
        path=path,
        file_bytes=header.size_bytes,
        gguf_version=header.version,
        architecture=meta.architecture,
        name=meta.text("general.name"),
        licence=meta.text("general.license"),
        file_type=FILE_TYPES.get(file_type) if file_type is not None else None,
        n_parameters=sum(tensor.n_values for tensor in header.tensors),
        quantisation=_shares(header),
        context_tokens=meta.count("*.context_length"),
        embedding_length=meta.count("*.embedding_length"),
        n_layers=meta.n_layers,
        heads=meta.per_layer("*.attention.head_count") or (),
        kv_heads=meta.kv_heads,
        experts=meta.count("*.expert_count"),
        experts_used=meta.first_count("*.expert_used_count"),
        tokenizer=_tokenizer(meta),
        chat_template=template,
        chat_format=_chat_format(template),
        rope=_rope(meta),
        sliding_window_tokens=layers.window_tokens,
        memory_kind=layers.kind,
        memory_decided_from=layers.decided_from,
        layers=layers.layers,
        split=_split(meta),
    )


def _shares(header: Header) -> tuple[TypeShare, ...]:
    tensors: Counter[str] = Counter()
    values: Counter[str] = Counter()
    size_bytes: Counter[str] = Counter()
    for tensor in header.tensors:
        tensors[tensor.type.name] += 1
        values[tensor.type.name] += tensor.n_values
        size_bytes[tensor.type.name] += tensor.size_bytes
    return tuple(
        TypeShare(name, tensors[name], values[name], n_bytes)
        for name, n_bytes in size_bytes.most_common()
    )


def _tokenizer(meta: Metadata) -> Tokenizer:
    tokens = meta.value("tokenizer.ggml.tokens")
    if isinstance(tokens, LongList):
        vocab_tokens = tokens.length
    elif isinstance(tokens, tuple):
        vocab_tokens = len(tokens)
    else:
        vocab_tokens = meta.count("*.vocab_size") or 0
    return Tokenizer(
        model=meta.text("tokenizer.ggml.model"),
        pre=meta.text("tokenizer.ggml.pre"),
        vocab_tokens=vocab_tokens,
        bos_id=meta.count("tokenizer.ggml.bos_token_id"),
        eos_id=meta.count("tokenizer.ggml.eos_token_id"),
    )


def _chat_format(template: str | None) -> str | None:
    if template is None:
        return None
    return next((kind for kind, mark in _CHAT_MARKS if mark in template), "other")


def _rope(meta: Metadata) -> Rope:
    return Rope(
        freq_base=meta.number("*.rope.freq_base"),
        dimensions=meta.first_count("*.rope.dimension_count"),
        scaling=meta.text("*.rope.scaling.type"),
        scaling_factor=meta.number("*.rope.scaling.factor"),
        original_context_tokens=meta.count("*.rope.scaling.original_context_length"),
    )


def _split(meta: Metadata) -> tuple[int, int] | None:
    """Which piece of how many, if the model is split over files."""
    of = meta.count("split.count")
    return ((meta.count("split.no") or 0) + 1, of) if of is not None and of > 1 else None
