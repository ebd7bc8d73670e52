"""A LoRA adapter in a GGUF file: what its header says, and whether it goes with a base model.

llama.cpp checks a part of this when it loads an adapter. The rest would end the process within a
step (two ranks that differ, an alpha of another type) or be left out without a word (norms,
matrices that it multiplies elsewhere). So all of it is checked here, by the two headers alone,
before llama.cpp sees the file. The layout is that of llama.cpp's convert_lora_to_gguf.py:
`NAME.lora_a` and `NAME.lora_b` for a matrix NAME, which becomes W + scale * alpha / rank * B A.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

from vedette.errors import AdapterRefused
from vedette.models.gguf_header import Header, Tensor, read_header

EMBEDDING = "token_embd.weight"
OUTPUT = "output.weight"
TYPES = ("F32", "F16", "BF16", "Q8_0")
"""How adapters are stored; llama.cpp can multiply by no other that is in use for them."""

_F32 = 6  # the kind of a metadata value
_APPLIED = re.compile(
    r"(output|token_embd|blk\.\d+\.("
    r"attn_(q|k|v|qkv|output)|ffn_(gate|up|down)|ssm_(in|x|dt|out)|shortconv\.(in|out)_proj"
    r"))\.weight"
)
"""The matrices that llama.cpp multiplies by way of its adapters."""
_HINT = "take an adapter that was made for this model, or this adapter's own base"


@dataclass(frozen=True, slots=True)
class Pair:
    """The two factors of one matrix's change. Shapes are as in the file: (columns, rows)."""

    a: Tensor
    b: Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterFile:
    """What an adapter's header says. `rank` is the largest; `alpha` 0 means: not scaled by it.

    `task_name` and `prompt_prefix` are what the file says it is for; nothing is done with them.
    """

    path: Path
    architecture: str
    alpha: float
    rank: int
    size_bytes: int
    task_name: str
    prompt_prefix: str
    pairs: dict[str, Pair]


def read_adapter(path: Path) -> AdapterFile:
    """The adapter in a file.

    Raises `FileError` where it cannot be read, `ModelCorrupt` where it is no sound GGUF, and
    `AdapterRefused` where it is no LoRA adapter, or one that could not be applied as a whole.
    """
    header = read_header(path)
    _check_kind(path, header)
    alpha = _alpha(path, header)
    pairs = _pairs(path, header)
    return AdapterFile(
        path=path,
        architecture=_text(header, "general.architecture"),
        alpha=alpha,
        rank=max(min(pair.a.shape[1], pair.b.shape[0]) for pair in pairs.values()),
        size_bytes=header.size_bytes,
        task_name=_text(header, "adapter.lora.task_name"),
        prompt_prefix=_text(header, "adapter.lora.prompt_prefix"),
        pairs=pairs,
    )


def check_base(adapter: AdapterFile, base: Header, base_name: str) -> None:
    """Raise `AdapterRefused` unless all of the adapter can be applied to this model."""
    architecture = _text(base, "general.architecture")
    if adapter.architecture != architecture:
        raise _no_match(
            adapter, base_name, f"it is for {adapter.architecture!r}, the model is {architecture!r}"
        )
    matrices = {tensor.name: tensor for tensor in base.tensors}
    for name, pair in adapter.pairs.items():
        if name not in matrices:
            raise _no_match(adapter, base_name, f"it changes {name}, which the model does not have")
        if not _APPLIED.fullmatch(name):
            raise _refused(
                adapter.path, f"it changes {name}, which llama.cpp applies no adapter to"
            )
        if name == EMBEDDING and OUTPUT not in matrices:
            raise _refused(
                adapter.path,
                f"it changes {EMBEDDING}, which this model uses as its output matrix too; "
                "llama.cpp cannot apply an adapter to both",
            )
        _check_shapes(adapter, base_name, name, pair, matrices[name])


def _check_shapes(
    adapter: AdapterFile, base_name: str, name: str, pair: Pair, matrix: Tensor
) -> None:
    """The product of the factors has the shape of the matrix."""
    a, b = pair.a.shape, pair.b.shape
    if name == EMBEDDING:  # its rows are looked up, so the factors stand the other way round
        fits = a[0] == b[0] and (b[1], a[1]) == matrix.shape
    else:
        fits = a[1] == b[0] and (a[0], b[1]) == matrix.shape
    if not fits:
        raise _no_match(
            adapter,
            base_name,
            f"{name} is {_times(matrix.shape)} in the model, and the adapter's factors are "
            f"{_times(a)} and {_times(b)}",
        )


def _check_kind(path: Path, header: Header) -> None:
    kind = _text(header, "general.type")
    if _text(header, "general.architecture") == "controlvector":
        raise _refused(path, "it is a control vector, and only LoRA adapters are applied here")
    if kind != "adapter":
        raise _refused(path, f"it is no adapter: its general.type is {kind or 'missing'!r}")
    how = _text(header, "adapter.type")
    if how != "lora":
        raise _refused(path, f"its adapter.type is {how or 'missing'!r}, and only 'lora' is known")
    if any(key.startswith("adapter.alora.") for key in header.metadata):
        raise _refused(
            path,
            "it is an activated LoRA (aLoRA), which takes effect from certain tokens on; here an "
            "adapter holds for the whole of a request",
        )


def _alpha(path: Path, header: Header) -> float:
    key = "adapter.lora.alpha"
    alpha = header.metadata.get(key, 0.0)
    if key in header.metadata and header.kinds.get(key) != _F32:
        raise _refused(path, f"its {key} is not a 32-bit float, which llama.cpp insists on")
    if not isinstance(alpha, float) or not math.isfinite(alpha):
        raise _refused(path, f"its {key} is {alpha}")
    return alpha


def _pairs(path: Path, header: Header) -> dict[str, Pair]:
    halves: dict[str, dict[str, Tensor]] = {}
    for tensor in header.tensors:
        name, dot, half = tensor.name.rpartition(".lora_")
        if not dot or half not in ("a", "b"):
            why = (
                "is a norm, which llama.cpp leaves as it is"
                if "norm" in tensor.name
                else ("is no factor of a matrix (.lora_a or .lora_b)")
            )
            raise _refused(path, f"{tensor.name} in it {why}")
        if len(tensor.shape) != 2:
            raise _refused(
                path, f"{tensor.name} in it has {len(tensor.shape)} dimensions; only matrices fit"
            )
        if tensor.type.name not in TYPES:
            raise _refused(
                path, f"{tensor.name} in it is {tensor.type.name}, and not {', '.join(TYPES)}"
            )
        halves.setdefault(name, {})[half] = tensor
    for name, found in halves.items():
        if len(found) != 2:
            raise _refused(path, f"of {name} it has only one factor")
    if not halves:
        raise _refused(path, "there is nothing in it")
    return {name: Pair(found["a"], found["b"]) for name, found in halves.items()}


def _text(header: Header, key: str) -> str:
    value = header.metadata.get(key, "")
    return value if isinstance(value, str) else ""


def _times(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def _refused(path: Path, reason: str) -> AdapterRefused:
    return AdapterRefused(f"{path.name} cannot be applied: {reason}")


def _no_match(adapter: AdapterFile, base_name: str, reason: str) -> AdapterRefused:
    return AdapterRefused(f"{adapter.path.name} does not go with {base_name}: {reason}", hint=_HINT)
