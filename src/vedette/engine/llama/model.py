"""A GGUF file loaded for answers, and the facts that the engine needs about it."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Literal, TypeAlias

import llama_cpp

from .open_file import open_file

MemoryKind: TypeAlias = Literal["full", "sliding", "recurrent", "hybrid"]

_KV_ELEMENT_BYTES = {
    "f32": 4.0,
    "f16": 2.0,
    "bf16": 2.0,
    "q8_0": 34 / 32,
    "q5_1": 24 / 32,
    "q5_0": 22 / 32,
    "q4_1": 20 / 32,
    "q4_0": 18 / 32,
    "iq4_nl": 18 / 32,
}


class Model:
    """Weights and vocabulary. Read-only, so any number of contexts may share it.

    Raises `ModelNotFound` for a missing file and `ModelCorrupt` for one that llama.cpp refuses.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pointer = open_file(path)
        self.vocab = llama_cpp.llama_model_get_vocab(self.pointer)
        self.n_vocab = int(llama_cpp.llama_vocab_n_tokens(self.vocab))
        self.train_context_tokens = int(llama_cpp.llama_model_n_ctx_train(self.pointer))
        self.parameters = int(llama_cpp.llama_model_n_params(self.pointer))
        self.size_bytes = int(llama_cpp.llama_model_size(self.pointer))
        self.eog_tokens = tuple(
            token
            for token in range(self.n_vocab)
            if llama_cpp.llama_vocab_is_eog(self.vocab, token)
        )

    @property
    def memory_kind(self) -> MemoryKind:
        """What the model remembers with: decides what a cache may share and drop."""
        if llama_cpp.llama_model_is_hybrid(self.pointer):
            return "hybrid"
        if llama_cpp.llama_model_is_recurrent(self.pointer):
            return "recurrent"
        return "sliding" if self.window_tokens > 0 else "full"

    @property
    def window_tokens(self) -> int:
        """Width of the sliding attention window; 0 where there is none."""
        return int(llama_cpp.llama_model_n_swa(self.pointer))

    @property
    def description(self) -> str:
        """Architecture, size and quantisation as llama.cpp words it."""
        buffer = ctypes.create_string_buffer(256)
        llama_cpp.llama_model_desc(self.pointer, buffer, len(buffer))
        return buffer.value.decode("utf-8", "replace")

    def kv_bytes_per_token(self, kv_type: str = "f16") -> float:
        """Upper estimate of the cache that one token takes, from the widest layer's shape."""
        element_bytes = _KV_ELEMENT_BYTES[kv_type]
        n_head = max(1, int(llama_cpp.llama_model_n_head(self.pointer)))
        head_width = int(llama_cpp.llama_model_n_embd(self.pointer)) / n_head
        kv_width = head_width * max(1, int(llama_cpp.llama_model_n_head_kv(self.pointer)))
        n_layer = int(llama_cpp.llama_model_n_layer(self.pointer))
        return 2 * n_layer * kv_width * element_bytes

    @property
    def chat_template(self) -> str | None:
        """The Jinja source stored in the file, or None."""
        raw = llama_cpp.llama_model_chat_template(self.pointer, None)
        return raw.decode("utf-8", "replace") if raw else None

    @property
    def adds_bos(self) -> bool:
        """Whether prompts start with the beginning-of-sequence token."""
        return bool(llama_cpp.llama_vocab_get_add_bos(self.vocab))

    def special_text(self, which: Literal["bos", "eos"]) -> str:
        """Spelling of the beginning or end token, '' where the vocabulary has none."""
        getter = llama_cpp.llama_vocab_bos if which == "bos" else llama_cpp.llama_vocab_eos
        token = int(getter(self.vocab))
        return self.piece(token, special=True).decode("utf-8", "replace") if token >= 0 else ""

    def tokenize(self, text: str, *, add_bos: bool = False, special: bool = False) -> list[int]:
        """Token ids of a text; `special` reads control-token spellings as the tokens they name."""
        raw = text.encode("utf-8", "surrogatepass")
        size = len(raw) + 8
        while True:
            buffer = (llama_cpp.llama_token * size)()
            n = llama_cpp.llama_tokenize(self.vocab, raw, len(raw), buffer, size, add_bos, special)
            if n >= 0:
                return list(buffer[:n])
            size = -n

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """Bytes of one token; control tokens are empty unless `special`."""
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            n = llama_cpp.llama_token_to_piece(self.vocab, token, buffer, size, 0, special)
            if n >= 0:
                return buffer.raw[:n]
            size = -n

    def close(self) -> None:
        """Free the weights. Contexts made from them must be closed before."""
        pointer, self.pointer = self.pointer, None
        if pointer:
            llama_cpp.llama_model_free(pointer)
