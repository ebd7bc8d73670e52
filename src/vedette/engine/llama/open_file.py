"""A GGUF opened by llama.cpp, or the reason why it is not."""

from __future__ import annotations

from pathlib import Path

import llama_cpp

from vedette.errors import ModelCorrupt, ModelNotFound

from . import library


def open_file(path: Path, *, vocab_only: bool = False) -> llama_cpp.llama_model_p:
    """The pointer to a model, which the caller frees; its weights stay away with `vocab_only`.

    Raises `ModelNotFound` for a missing file and `ModelCorrupt` for one that llama.cpp refuses.
    """
    if not path.is_file():
        raise ModelNotFound(f"no such model file: {path}")
    library.start()
    params = llama_cpp.llama_model_default_params()
    params.vocab_only = vocab_only
    pointer = llama_cpp.llama_model_load_from_file(str(path).encode(), params)
    if not pointer:
        failed = "finds no vocabulary in" if vocab_only else "cannot load"
        raise ModelCorrupt(
            f"llama.cpp {failed} {path}: {library.last_complaint() or 'no reason given'}",
            hint="run `vedette show` on the file, or pull it again",
        )
    return pointer
