"""Tiny LoRA adapters for the tiny models, and the same models with them merged in.

An adapter is random factors of some of a model's matrices. `merged` adds their products to the
weights with numpy, which is what an adapter is defined by: W + scale * alpha / rank * B A.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from gguf import GGUFWriter
from numpy.typing import NDArray

from tiny_gguf import TinyKind, build_tiny
from vedette.models.gguf_header import read_header

Matrix: TypeAlias = NDArray[np.float32]

ARCHITECTURES = {"full": "qwen2", "sliding": "gemma3", "recurrent": "mamba", "hybrid": "lfm2"}
EMBEDDING = "token_embd.weight"
ATTENTION = ("attn_q", "attn_k", "attn_v", "attn_output")
FEED_FORWARD = ("ffn_gate", "ffn_up", "ffn_down")
CONVOLUTION = ("shortconv.in_proj", "shortconv.out_proj")
HEAD = ("output.weight", EMBEDDING)


def matrices(kind: TinyKind) -> list[str]:
    """All matrices of a tiny model that an adapter may change."""
    layers = {
        "full": [(*ATTENTION, *FEED_FORWARD)] * 2,
        "sliding": [(*ATTENTION, *FEED_FORWARD)] * 2,
        "recurrent": [("ssm_in", "ssm_x", "ssm_dt", "ssm_out")] * 2,
        "hybrid": [
            (*(ATTENTION if layer == 1 else CONVOLUTION), *FEED_FORWARD) for layer in range(3)
        ],
    }[kind]
    names = [f"blk.{i}.{name}.weight" for i, layer in enumerate(layers) for name in layer]
    return [*names, *HEAD]


@dataclass(frozen=True)
class Lora:
    """Factors by matrix, as they are in the file: B A is added to a matrix of (rows, columns).

    For the embedding, whose rows are looked up, the file has A as (n_vocab, rank) and B as
    (n_embd, rank), and A B^T is added.
    """

    alpha: float
    rank: int
    factors: dict[str, tuple[Matrix, Matrix]]
    architecture: str

    def delta(self, name: str, scale: float) -> Matrix | None:
        """What is added to a matrix; None if it is left alone."""
        if name not in self.factors:
            return None
        a, b = self.factors[name]
        product = a @ b.T if name == EMBEDDING else b @ a
        return product * np.float32(scale * (self.alpha / self.rank if self.alpha else 1.0))

    def write(self, path: Path) -> Path:
        """As llama.cpp's converter writes it."""
        writer = adapter_writer(path, self.architecture, alpha=self.alpha)
        for name, (a, b) in self.factors.items():
            writer.add_tensor(f"{name}.lora_a", a)
            writer.add_tensor(f"{name}.lora_b", b)
        return finished(writer, path)


def make_lora(
    kind: TinyKind,
    base: Path,
    *,
    seed: int,
    names: Iterable[str] | None = None,
    rank: int = 4,
    alpha: float = 8.0,
    strength: float = 1.0,
    architecture: str | None = None,
) -> Lora:
    """Random factors of these matrices (all of them, but for the embedding and the output)."""
    random = np.random.default_rng(seed)
    shapes = {tensor.name: tensor.shape[::-1] for tensor in read_header(base).tensors}
    chosen = matrices(kind)[: -len(HEAD)] if names is None else names
    factors = {}
    for name in chosen:
        rows, columns = shapes[name]
        a_shape = (rows, rank) if name == EMBEDDING else (rank, columns)
        b_shape = (columns, rank) if name == EMBEDDING else (rows, rank)
        a = random.standard_normal(a_shape, dtype=np.float32) * np.float32(columns**-0.5)
        b = random.standard_normal(b_shape, dtype=np.float32) * np.float32(0.25 * strength)
        factors[name] = (a, b)
    return Lora(alpha, rank, factors, architecture or ARCHITECTURES[kind])


def merged(kind: TinyKind, path: Path, *loras: tuple[Lora, float]) -> Path:
    """The tiny model with adapters merged into its weights, each at its scale."""

    def change(name: str, tensor: Matrix) -> Matrix:
        for lora, scale in loras:
            delta = lora.delta(name, scale)
            if delta is not None:
                tensor = tensor + delta
        return tensor

    return build_tiny(kind, path, change=change)


def adapter_writer(
    path: Path,
    architecture: str = "qwen2",
    *,
    kind: str = "adapter",
    how: str = "lora",
    alpha: float | None = 8.0,
) -> GGUFWriter:
    """A file that says it is an adapter; what else is in it is the caller's."""
    writer = GGUFWriter(path, architecture)
    writer.add_string("general.type", kind)
    writer.add_string("adapter.type", how)
    if alpha is not None:
        writer.add_float32("adapter.lora.alpha", alpha)
    return writer


def finished(writer: GGUFWriter, path: Path) -> Path:
    """Write all of it and close the file."""
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
