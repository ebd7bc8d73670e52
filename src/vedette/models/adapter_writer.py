"""Writes a LoRA adapter as a GGUF file, in the layout of llama.cpp's convert_lora_to_gguf.py."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
from gguf import GGUFWriter
from numpy.typing import NDArray

from vedette.errors import FileError

Factors: TypeAlias = tuple[NDArray[np.float32], NDArray[np.float32]]
"""A and B of a matrix of (rows, columns).  # (rank, columns), (rows, rank)"""


def write_adapter(
    path: Path,
    architecture: str,
    factors: Mapping[str, Factors],
    *,
    alpha: float,
    name: str = "",
    task_name: str = "",
    base_name: str = "",
) -> None:
    """Write the factors, by the names that the base model's file has for its matrices, as F16.

    Applied at scale s, a matrix becomes W + s * alpha / rank * B A. `name`, `task_name` and
    `base_name` say what it is, what for, and of which model; empty ones are left out. Raises
    `FileError`.
    """
    texts = {
        "general.name": name,
        "general.base_model.0.name": base_name,
        "adapter.lora.task_name": task_name,
    }
    try:
        writer = GGUFWriter(path, architecture)
        writer.add_string("general.type", "adapter")
        writer.add_string("adapter.type", "lora")
        writer.add_float32("adapter.lora.alpha", alpha)
        if base_name:
            writer.add_uint32("general.base_model.count", 1)
        for key, text in texts.items():
            if text:
                writer.add_string(key, text)
        for matrix, (a, b) in factors.items():
            writer.add_tensor(f"{matrix}.lora_a", np.ascontiguousarray(a, np.float16))
            writer.add_tensor(f"{matrix}.lora_b", np.ascontiguousarray(b, np.float16))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from error
