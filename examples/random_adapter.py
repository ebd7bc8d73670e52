"""A LoRA adapter of random numbers for a model: good for nothing but trying adapters out.

    python examples/random_adapter.py MODEL FILE [SEED]

It changes the attention of every layer. At a scale of 0.1 a model still makes sense, at 1 it does
not.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from gguf import GGUFWriter

from vedette.models.gguf_header import read_header
from vedette.models.locate import locate

RANK = 8
CHANGED = ("attn_q.weight", "attn_k.weight", "attn_v.weight", "attn_output.weight")


def write_random_adapter(model: str, path: Path, seed: int = 0) -> None:
    """Write an adapter for a model that is on this machine, as llama.cpp's converter would."""
    base = read_header(locate(model).path)
    random = np.random.default_rng(seed)
    writer = GGUFWriter(path, str(base.metadata["general.architecture"]))
    writer.add_string("general.type", "adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", RANK)
    for tensor in base.tensors:
        if tensor.name.endswith(CHANGED):
            columns, rows = tensor.shape
            a = random.normal(0, columns**-0.5, (RANK, columns))
            b = random.normal(0, 0.3, (rows, RANK))
            writer.add_tensor(f"{tensor.name}.lora_a", a.astype(np.float16))
            writer.add_tensor(f"{tensor.name}.lora_b", b.astype(np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    name, file, *seed = sys.argv[1:]
    write_random_adapter(name, Path(file), *map(int, seed))
