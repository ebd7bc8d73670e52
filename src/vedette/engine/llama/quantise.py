"""Weights packed anew by llama.cpp's own quantiser.

    python -m vedette.engine.llama.quantise SOURCE TARGET TYPE HEAD THREADS

It is run as a process of its own: the quantiser cannot be interrupted, and a fault in it ends the
process. Exit code 1 comes with llama.cpp's reason on stderr; the target is then of no use.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import llama_cpp

from vedette.errors import EngineFailed
from vedette.models.ggml_types import GGML_TYPES
from vedette.models.gguf_facts import FILE_TYPES

from . import library

_FILE_TYPE_NUMBERS = {name: number for number, name in FILE_TYPES.items()}
_TENSOR_TYPE_NUMBERS = {each.name: number for number, each in GGML_TYPES.items()}


def quantise(source: Path, target: Path, *, file_type: str, head: str, threads: int) -> None:
    """Write the weights of `source` to `target` as `file_type`, whatever they are packed in now.

    A plain type, such as `IQ4_NL`, is given to every matrix; a mix, such as `Q4_K_M`,
    gives each what llama.cpp thinks right. `head` is the type of the embeddings and the output
    matrix, '' leaves that to llama.cpp. Raises `EngineFailed`.
    """
    library.start()
    params = llama_cpp.llama_model_quantize_default_params()
    params.nthread = threads
    params.ftype = _FILE_TYPE_NUMBERS[file_type]
    params.allow_requantize = True
    params.pure = file_type in _TENSOR_TYPE_NUMBERS
    if head:
        params.output_tensor_type = params.token_embedding_type = _TENSOR_TYPE_NUMBERS[head]
    status = llama_cpp.llama_model_quantize(
        str(source).encode(), str(target).encode(), ctypes.byref(params)
    )
    if status != 0:
        raise EngineFailed(
            f"llama.cpp cannot pack {source} as {file_type}: "
            f"{library.last_complaint() or 'no reason given'}"
        )


def main(arguments: list[str]) -> int:
    """Run it on the arguments of the command line."""
    source, target, file_type, head, threads = arguments
    try:
        quantise(Path(source), Path(target), file_type=file_type, head=head, threads=int(threads))
    except EngineFailed as error:
        print(error.message, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
