"""A LoRA adapter of random numbers for a model: good for nothing but trying adapters out.

    python examples/random_adapter.py MODEL FILE [SEED]

It changes the attention of every layer. At a scale of 0.1 a model still makes sense, at 1 it does
not.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from vedette.errors import VedetteError
from vedette.models.adapter_writer import write_adapter
from vedette.models.gguf_header import read_header
from vedette.models.locate import locate

RANK = 8
CHANGED = ("attn_q.weight", "attn_k.weight", "attn_v.weight", "attn_output.weight")


def write_random_adapter(model: str, path: Path, seed: int = 0) -> None:
    """Write an adapter for a model that is on this machine."""
    base = read_header(locate(model).path)
    random = np.random.default_rng(seed)
    factors = {}
    for tensor in base.tensors:
        if tensor.name.endswith(CHANGED):
            columns, rows = tensor.shape
            a = random.normal(0, columns**-0.5, (RANK, columns))
            b = random.normal(0, 0.3, (rows, RANK))
            factors[tensor.name] = (a, b)
    write_adapter(path, str(base.metadata["general.architecture"]), factors, alpha=RANK)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: python examples/random_adapter.py MODEL FILE [SEED]")
    name, file, *seed = sys.argv[1:]
    try:
        write_random_adapter(name, Path(file), *map(int, seed))
    except VedetteError as error:
        sys.exit(str(error))
