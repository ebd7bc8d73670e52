"""Which models can be trained, and how their matrices are called on both sides.

Transformers reads the weights out of the GGUF file and calls them by its own names; what it
learns goes back under llama.cpp's. Of Llama's queries and keys llama.cpp keeps the rows in another
order (its rotation takes neighbours, Transformers' takes halves), so the factor that makes these
rows is turned too, as llama.cpp's converter does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vedette.errors import CapabilityMissing, ModelCorrupt
from vedette.models.adapter_writer import Factors
from vedette.models.gguf_header import Header

ARCHITECTURES = ("llama", "qwen2", "qwen3")
_TURNED = {"llama": ("attn_q", "attn_k")}
_MATRICES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
MODULES = tuple(name.rpartition(".")[2] for name in _MATRICES)
"""The linear layers that are trained, by the last part of Transformers' names."""
_MODULE = re.compile(r"model\.layers\.(\d+)\.(\w+\.\w+)")


@dataclass(frozen=True, slots=True)
class Base:
    """What must be known of a model to write an adapter for it."""

    architecture: str
    n_heads: int
    n_kv_heads: int
    is_packed: bool


def base_of(header: Header, name: str) -> Base:
    """What a model's header says. Raises `CapabilityMissing` for a model that cannot be trained."""
    architecture = str(header.metadata.get("general.architecture", ""))
    if architecture not in ARCHITECTURES:
        raise _cannot(name, f"its architecture is {architecture!r}")
    if any(tensor.name.startswith("rope_freqs") for tensor in header.tensors):
        raise _cannot(name, "its positions are scaled in a way that Transformers does not read")
    sizes = {tensor.name: tensor.shape for tensor in header.tensors}
    n_layers = _number(header, f"{architecture}.block_count", name)
    for layer in range(n_layers):
        for matrix in _MATRICES.values():
            if f"blk.{layer}.{matrix}.weight" not in sizes:
                raise _cannot(name, f"it has no matrix blk.{layer}.{matrix}")
    n_heads = _number(header, f"{architecture}.attention.head_count", name)
    return Base(
        architecture=architecture,
        n_heads=n_heads,
        n_kv_heads=_number(header, f"{architecture}.attention.head_count_kv", name, n_heads),
        is_packed=any(tensor.type.block_values > 1 for tensor in header.tensors),
    )


def _number(header: Header, key: str, name: str, default: int | None = None) -> int:
    value = header.metadata.get(key, default)
    if type(value) is not int or value < 1:
        raise ModelCorrupt(f"{name}: its {key} is {value!r}, not a number")
    return value


def _cannot(name: str, why: str) -> CapabilityMissing:
    return CapabilityMissing(
        f"{name} cannot be trained: {why}",
        hint=f"models of {', '.join(ARCHITECTURES)} can, with all their layers alike",
    )


def as_in_gguf(trained: Mapping[str, Factors], base: Base) -> dict[str, Factors]:
    """The factors of Transformers' modules, by llama.cpp's names and in its order of rows."""
    found = {}
    for module, (a, b) in trained.items():
        layer, matrix = _matrix(module)
        if matrix in _TURNED.get(base.architecture, ()):
            b = turned(b, base.n_heads if matrix == "attn_q" else base.n_kv_heads)
        found[f"blk.{layer}.{matrix}.weight"] = (a, b)
    return found


def _matrix(module: str) -> tuple[int, str]:
    match = _MODULE.fullmatch(module)
    if match is None or match[2] not in _MATRICES:
        raise ValueError(f"{module!r} is no linear layer that is trained")
    return int(match[1]), _MATRICES[match[2]]


def turned(rows: NDArray[np.float32], n_heads: int) -> NDArray[np.float32]:
    """Rows of queries or keys from halves to neighbours: of each head 0, n/2, 1, n/2 + 1, ..."""
    halves = rows.reshape(n_heads, 2, rows.shape[0] // n_heads // 2, *rows.shape[1:])
    return halves.swapaxes(1, 2).reshape(rows.shape)
