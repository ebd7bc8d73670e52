"""A tiny vision projector with random weights, for the tiny models.

Two forms of the simplest that llama.cpp knows:

    mlp      a CLIP encoder of two layers, of which the first is used; its positions are causal
    gemma3   a SigLIP encoder, pooled; the positions of a picture see each other
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from gguf import GGUFWriter
from numpy.typing import NDArray

from tiny_gguf import N_EMBD

IMAGE_PX, PATCH_PX = 32, 8
N_PATCHES = (IMAGE_PX // PATCH_PX) ** 2
N_VISION, N_HEAD, N_FF = 32, 2, 64

TinyProjector = Literal["mlp", "gemma3"]


def build_mmproj(
    path: Path,
    kind: TinyProjector = "mlp",
    *,
    seed: int = 0,
    width: int = N_EMBD,
    without: tuple[str, ...] = (),
    architecture: str = "clip",
) -> Path:
    """Write the projector to `path` and return it; `without` leaves metadata keys out."""
    random = np.random.default_rng(seed)

    def matrix(*shape: int, gain: float = 1.0) -> NDArray[np.float32]:
        scale = np.float32(gain / shape[-1] ** 0.5)
        return random.standard_normal(shape, dtype=np.float32) * scale

    def vector(n: int, around: float = 0.0) -> NDArray[np.float32]:
        return np.float32(around) + random.standard_normal(n, dtype=np.float32) * np.float32(0.1)

    writer = GGUFWriter(path, architecture)
    _add_metadata(writer, kind, width, without)
    patch = random.standard_normal((N_VISION, 3, PATCH_PX, PATCH_PX), dtype=np.float32)
    writer.add_tensor("v.patch_embd.weight", patch * np.float32(0.1))
    has_class = kind == "mlp"
    if has_class:
        writer.add_tensor("v.class_embd", vector(N_VISION))
        for end in ("weight", "bias"):
            writer.add_tensor(f"v.pre_ln.{end}", vector(N_VISION, float(end == "weight")))
    else:
        writer.add_tensor("v.patch_embd.bias", vector(N_VISION))
    writer.add_tensor("v.position_embd.weight", matrix(N_PATCHES + has_class, N_VISION))
    for end in ("weight", "bias"):
        writer.add_tensor(f"v.post_ln.{end}", vector(N_VISION, float(end == "weight")))
    for layer in range(2):
        block = f"v.blk.{layer}"
        for name in ("attn_q", "attn_k", "attn_v", "attn_out"):
            writer.add_tensor(f"{block}.{name}.weight", matrix(N_VISION, N_VISION))
            writer.add_tensor(f"{block}.{name}.bias", vector(N_VISION))
        writer.add_tensor(f"{block}.ffn_up.weight", matrix(N_FF, N_VISION))
        writer.add_tensor(f"{block}.ffn_up.bias", vector(N_FF))
        writer.add_tensor(f"{block}.ffn_down.weight", matrix(N_VISION, N_FF))
        writer.add_tensor(f"{block}.ffn_down.bias", vector(N_VISION))
        for name in ("ln1", "ln2"):
            writer.add_tensor(f"{block}.{name}.weight", vector(N_VISION, 1.0))
            writer.add_tensor(f"{block}.{name}.bias", vector(N_VISION))
    if kind == "mlp":
        writer.add_tensor("mm.0.weight", matrix(width, N_VISION))
        writer.add_tensor("mm.0.bias", vector(width))
        writer.add_tensor("mm.2.weight", matrix(width, width, gain=2.0))
        writer.add_tensor("mm.2.bias", vector(width))
    else:
        writer.add_tensor("mm.input_projection.weight", matrix(N_VISION, width, gain=2.0))
        writer.add_tensor("mm.soft_emb_norm.weight", vector(N_VISION, 1.0))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_metadata(
    writer: GGUFWriter, kind: TinyProjector, width: int, without: tuple[str, ...]
) -> None:
    numbers = {
        "clip.vision.image_size": IMAGE_PX,
        "clip.vision.patch_size": PATCH_PX,
        "clip.vision.embedding_length": N_VISION,
        "clip.vision.feed_forward_length": N_FF,
        "clip.vision.block_count": 2,
        "clip.vision.projection_dim": width,
        "clip.vision.attention.head_count": N_HEAD,
    }
    if kind == "gemma3":
        numbers["clip.vision.projector.scale_factor"] = 2
    for key, number in numbers.items():
        if key not in without:
            writer.add_uint32(key, number)
    if "clip.vision.attention.layer_norm_epsilon" not in without:
        writer.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-5)
    for key in ("clip.vision.image_mean", "clip.vision.image_std"):
        if key not in without:
            writer.add_array(key, [0.5, 0.5, 0.5])
    if "clip.projector_type" not in without:
        writer.add_string("clip.projector_type", kind)
    writer.add_bool("clip.has_vision_encoder", "clip.has_vision_encoder" not in without)
    writer.add_bool("clip.use_gelu", True)
