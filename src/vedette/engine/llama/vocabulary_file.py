"""The vocabulary of a GGUF alone, without its weights: enough to count tokens."""

from __future__ import annotations

import threading
from pathlib import Path

import llama_cpp

from .open_file import open_file


class VocabularyFile:
    """Counts the tokens of texts as the model of this file would. Read-only; any thread.

    Raises `ModelNotFound` for a missing file and `ModelCorrupt` for one that llama.cpp refuses.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._pointer = open_file(path, vocab_only=True)
        self._vocab = llama_cpp.llama_model_get_vocab(self._pointer)
        self._buffer = (llama_cpp.llama_token * 8192)()

    def count_tokens(self, text: str) -> int:
        """Tokens of a plain text; what looks like a control token in it is text too."""
        raw = text.encode("utf-8", "surrogatepass")
        with self._lock:
            size = len(self._buffer)
            if len(raw) + 8 > size:
                self._buffer = (llama_cpp.llama_token * (len(raw) + 8))()
                size = len(self._buffer)
            n = llama_cpp.llama_tokenize(
                self._vocab, raw, len(raw), self._buffer, size, False, False
            )
        return abs(int(n))

    def close(self) -> None:
        """Free it."""
        with self._lock:
            pointer, self._pointer = self._pointer, None
            if pointer:
                llama_cpp.llama_model_free(pointer)
