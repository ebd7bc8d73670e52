"""A vision projector in a GGUF file: what its header says, and whether it goes with a model.

llama.cpp ends the process for some of what can be wrong in such a file. So it is checked here, by
the headers alone, before llama.cpp sees it. The layout is that of llama.cpp's
convert_hf_to_gguf.py with `--mmproj`: metadata `clip.*`, an encoder `v.*`, a projector `mm.*`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vedette.errors import ModelNotFound, ProjectorRefused
from vedette.models.gguf_header import Header, read_header

PATTERN = "mmproj*.gguf"
"""How the files are called that lie beside a model."""

_WIDTHS: Mapping[str, tuple[tuple[str, int], ...]] = {
    "mlp": (("mm.4.bias", 0), ("mm.2.weight", 1), ("mm.0.weight", 1)),
    "ldp": (("mm.model.mb_block.1.block.2.1.bias", 0),),
    "ldpv2": (("mm.model.peg.0.bias", 0),),
    "resampler": (("resampler.proj.weight", 0),),
    "gemma3": (("mm.input_projection.weight", 0),),
    "idefics3": (("mm.model.fc.weight", 1),),
    "internvl": (("mm.3.weight", 1),),
    "lfm2": (("mm.2.weight", 1),),
    "pixtral": (("mm.2.weight", 1),),
    "llama4": (("mm.model.fc.weight", 1),),
    "qwen2vl_merger": (("mm.2.bias", 0),),
    "qwen2.5vl_merger": (("mm.2.bias", 0),),
    "qwen3vl_merger": (("mm.2.bias", 0),),
}
"""By type of projector: which side of which tensor is as wide as the model's embedding.

Of several the first that is there. Of other types llama.cpp finds out the width itself.
"""
_NEEDED = (
    "clip.vision.image_size",
    "clip.vision.patch_size",
    "clip.vision.embedding_length",
    "clip.vision.feed_forward_length",
    "clip.vision.block_count",
    "clip.vision.projection_dim",
    "clip.vision.attention.head_count",
    "clip.vision.attention.layer_norm_epsilon",
)
_COLOURS = ("clip.vision.image_mean", "clip.vision.image_std")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectorFile:
    """What a projector's header says; `width` is None where it cannot be told from it."""

    path: Path
    kind: str
    width: int | None


def read_projector(path: Path) -> ProjectorFile:
    """The projector in a file.

    Raises `ModelNotFound` where there is none, `FileError` where it cannot be read,
    `ModelCorrupt` where it is no sound GGUF, and `ProjectorRefused` where it shows no pictures.
    """
    if not path.is_file():
        raise ModelNotFound(f"there is no projector file {path}")
    header = read_header(path)
    metadata = header.metadata
    if metadata.get("general.architecture") != "clip":
        found = metadata.get("general.architecture", "missing")
        raise _refused(path, f"it is no projector: its general.architecture is {found!r}")
    if metadata.get("clip.has_vision_encoder") is not True:
        raise _refused(path, "it has no vision encoder")
    kind = metadata.get("clip.projector_type") or metadata.get("clip.vision.projector_type")
    if not isinstance(kind, str):
        raise _refused(path, "it does not say of which type it is (clip.projector_type)")
    missing = next((key for key in _NEEDED if key not in metadata), None)
    if missing is not None:
        raise _refused(path, f"it does not say its {missing}")
    for key in _COLOURS:
        value = metadata.get(key)
        values = value if isinstance(value, tuple) else ()
        if [type(one) for one in values] != [float] * 3:
            raise _refused(path, f"its {key} is not three numbers")
    _check_sizes(path, header)
    return ProjectorFile(path=path, kind=kind, width=_width(kind, header))


def check_model(projector: ProjectorFile, model: Header, model_name: str) -> None:
    """Raise `ProjectorRefused` unless what it gives is as wide as the model's embedding.

    Refused are also models that give a picture positions in two dimensions (M-RoPE).
    """
    architecture = model.metadata.get("general.architecture", "")
    if f"{architecture}.rope.dimension_sections" in model.metadata:
        raise ProjectorRefused(
            f"{model_name} gives a picture positions in two dimensions (M-RoPE), which this engine "
            "does not count",
            hint="take a vision model without M-RoPE, or --mmproj none for texts only",
        )
    width = model.metadata.get(f"{architecture}.embedding_length")
    if projector.width is not None and width is not None and projector.width != width:
        raise ProjectorRefused(
            f"{projector.path.name} does not go with {model_name}: it gives vectors of "
            f"{projector.width} numbers, and the model takes {width}",
            hint="take the projector that was made for this model",
        )


def _check_sizes(path: Path, header: Header) -> None:
    """Numbers that llama.cpp divides by."""
    for key in (*_NEEDED[:3], "clip.vision.attention.head_count"):
        value = header.metadata[key]
        if not isinstance(value, int) or value < 1:
            raise _refused(path, f"its {key} is {value!r}")


def _width(kind: str, header: Header) -> int | None:
    shapes = {tensor.name: tensor.shape for tensor in header.tensors}
    for name, side in _WIDTHS.get(kind, ()):
        if len(shapes.get(name, ())) > side:
            return shapes[name][side]
    return None


def _refused(path: Path, reason: str) -> ProjectorRefused:
    return ProjectorRefused(f"{path.name} cannot be used: {reason}")
