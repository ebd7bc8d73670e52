"""What a plan needs to know of a GGUF: its bytes by layer, and what each layer remembers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from vedette.errors import InputError
from vedette.models.gguf_header import Header, Tensor, read_header
from vedette.models.layers import LayerMemory, layer_memory
from vedette.models.locate import find_local
from vedette.models.metadata import Metadata
from vedette.models.names import parse_name

_BLOCK = re.compile(r"blk\.(\d+)\.")
_EMBEDDINGS = ("token_embd.", "per_layer_token_embd.", "position_embd.", "token_types.")
_OUTPUT = ("output.", "output_norm.", "token_embd_norm.")
_EXPERT = "_exps."


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerWeights:
    """Bytes of one layer: those every token reads, and those of experts, of which some are read."""

    dense_bytes: int
    expert_bytes: int

    @property
    def total_bytes(self) -> int:
        """All of them."""
        return self.dense_bytes + self.expert_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """A model by its header. `where` is what a command line calls it: path, address or name.

    `output_bytes` are those of the output matrix and its norm; with a tied one (`tied`) the
    embedding is read in its place. `head_layers` are the layers that only serve multi-token
    prediction, not among `layers`; `head_memory` is what one of them remembers.
    """

    name: str
    where: str
    is_local: bool
    architecture: str
    n_parameters: int
    context_tokens: int | None
    embedding_length: int
    feed_forward_length: int
    n_heads: int
    vocab_tokens: int
    tokenizer: tuple[str | None, str | None]
    layers: tuple[LayerWeights, ...]
    memory: tuple[LayerMemory, ...]
    window_tokens: int | None
    embedding_bytes: int
    output_bytes: int
    tied: bool
    head_layers: tuple[LayerWeights, ...]
    head_memory: LayerMemory | None
    other_bytes: int
    n_experts: int
    n_experts_used: int
    tensors: tuple[Tensor, ...]

    @property
    def weights_bytes(self) -> int:
        """All of the file's tensors."""
        return (
            sum(layer.total_bytes for layer in (*self.layers, *self.head_layers))
            + self.embedding_bytes
            + self.output_bytes
            + self.other_bytes
        )

    @property
    def head_bytes(self) -> int:
        """The layers for multi-token prediction."""
        return sum(layer.total_bytes for layer in self.head_layers)

    @property
    def read_output_bytes(self) -> int:
        """What computing logits reads."""
        return self.output_bytes + (self.embedding_bytes if self.tied else 0)

    @property
    def is_recurrent(self) -> bool:
        """Whether some layer keeps a state that cannot be wound back."""
        return any(layer.state_bytes for layer in self.memory)


def read_model(name: str) -> ModelFile:
    """Read the header of a file, a model of the registry, or one on the web.

    Raises `ModelNotFound`, `ModelCorrupt`, `FileError` as the readers do, `InputError` for a file
    that is no language model, or one piece of several.
    """
    from vedette.models.remote_file import is_url, remote_header

    if not is_url(name):
        found = find_local(parse_name(name))
        if found is not None:
            return model_of(read_header(found.path), name, str(found.path))
    return model_of(remote_header(name), name, None)


def read_projector_bytes(path: str) -> int:
    """Bytes of a vision projector's tensors.

    Raises as `read_header`, and `InputError` for a file that is none.
    """
    header = read_header(Path(path).expanduser())
    if Metadata(path, header.metadata).architecture != "clip":
        raise InputError(f"{path} is not a projector: its architecture is not clip")
    return sum(tensor.size_bytes for tensor in header.tensors)


def model_of(header: Header, name: str, path: str | None) -> ModelFile:
    """The facts of a header; `path` is None for a file that is not here."""
    meta = Metadata(name, header.metadata)
    if (meta.count("split.count") or 1) > 1:
        raise InputError(
            f"{name} is one piece of a model that is split over files",
            hint="give a file that holds the whole model",
        )
    memory = layer_memory(meta)
    blocks, embedding, output, other, tied = _sorted(header.tensors)
    n_layers = meta.n_layers
    if not n_layers or not all(index in blocks for index in range(n_layers)):
        raise InputError(f"{name} is not a language model: it has no layers of its own")
    head = tuple(blocks[index] for index in sorted(blocks) if index >= n_layers)
    has_head = any(".nextn." in tensor.name for tensor in header.tensors)
    attends = [layer for layer in memory.layers if layer.key_values]
    return ModelFile(
        name=name,
        where=path or name,
        is_local=path is not None,
        architecture=meta.architecture,
        n_parameters=sum(tensor.n_values for tensor in header.tensors),
        context_tokens=meta.count("*.context_length"),
        embedding_length=meta.count("*.embedding_length") or 0,
        feed_forward_length=_largest(meta, "*.feed_forward_length"),
        n_heads=max(meta.per_layer("*.attention.head_count") or (0,)),
        vocab_tokens=_length(meta, "tokenizer.ggml.tokens") or meta.count("*.vocab_size") or 0,
        tokenizer=(meta.text("tokenizer.ggml.model"), meta.text("tokenizer.ggml.pre")),
        layers=tuple(blocks[index] for index in range(n_layers)),
        memory=memory.layers,
        window_tokens=memory.window_tokens,
        embedding_bytes=embedding,
        output_bytes=output,
        tied=tied,
        head_layers=head if has_head else (),
        head_memory=attends[-1] if has_head and attends else None,
        other_bytes=other if has_head else other + sum(each.total_bytes for each in head),
        n_experts=meta.count("*.expert_count") or 0,
        n_experts_used=meta.first_count("*.expert_used_count") or 0,
        tensors=header.tensors,
    )


def layer_of(tensor: Tensor) -> int | None:
    """The layer that a tensor belongs to, or None."""
    found = _BLOCK.match(tensor.name)
    return int(found[1]) if found else None


def _sorted(
    tensors: tuple[Tensor, ...],
) -> tuple[dict[int, LayerWeights], int, int, int, bool]:
    """Bytes by layer, of the embeddings, of the output, of all else; is the output tied?"""
    dense: dict[int, int] = {}
    experts: dict[int, int] = {}
    embedding = output = other = 0
    for tensor in tensors:
        if (index := layer_of(tensor)) is not None:
            group = experts if _EXPERT in tensor.name else dense
            group[index] = group.get(index, 0) + tensor.size_bytes
        elif tensor.name.startswith(_EMBEDDINGS):
            embedding += tensor.size_bytes
        elif tensor.name.startswith(_OUTPUT):
            output += tensor.size_bytes
        else:
            other += tensor.size_bytes
    blocks = {
        index: LayerWeights(dense_bytes=dense.get(index, 0), expert_bytes=experts.get(index, 0))
        for index in {*dense, *experts}
    }
    tied = not any(tensor.name == "output.weight" for tensor in tensors)
    return blocks, embedding, output, other, tied


def _largest(meta: Metadata, key: str) -> int:
    return max(meta.per_layer(key) or (0,))


def _length(meta: Metadata, key: str) -> int:
    value = meta.value(key)
    if isinstance(value, tuple):
        return len(value)
    return getattr(value, "length", 0)
