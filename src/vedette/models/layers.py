"""How a model remembers what it has read, layer by layer.

full            every token keeps a key and a value: any suffix can be dropped
sliding window  some or all layers keep only the last tokens
recurrent       a state of fixed size, overwritten by each token: nothing can be dropped
hybrid          layers of attention and layers of state
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import TypeAdapter

from vedette.models.metadata import Metadata

MemoryKind: TypeAlias = Literal["full", "sliding window", "recurrent", "hybrid"]
_STATE_GROUPS = ("*.ssm.", "*.wkv.", "*.shortconv.", "*.kda.")
_FLOAT_BYTES = 4  # states are kept in F32


@dataclass(frozen=True, slots=True)
class LayerMemory:
    """What one layer keeps: values per token for keys and for values, bytes of state a sequence."""

    key_values: int
    value_values: int
    windowed: bool
    state_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMemory:
    """The layers, the window they share if any, and what the kind was decided from."""

    kind: MemoryKind
    decided_from: str
    window_tokens: int | None
    layers: tuple[LayerMemory, ...]


@dataclass(frozen=True, slots=True)
class _Window:
    full_every: int
    full_first: bool = False
    default_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class _Architectures:
    recurrent: frozenset[str]
    hybrid: frozenset[str]
    state_in_every_layer: frozenset[str]
    attention_every: Mapping[str, int]
    layers_with_own_cache: Mapping[str, int]
    window: Mapping[str, _Window]


@cache
def _known() -> _Architectures:
    text = Path(__file__).with_name("architectures.toml").read_text(encoding="utf-8")
    return TypeAdapter(_Architectures).validate_python(tomllib.loads(text))


def layer_memory(meta: Metadata) -> ModelMemory:
    """Work it out from keys and architecture. Raises `ModelCorrupt` for contradictory keys."""
    state, state_why = _state_layers(meta)
    windowed, window_tokens, window_why = _windowed_layers(meta)
    layers = tuple(
        _layer(meta, index, has_state, in_window)
        for index, (has_state, in_window) in enumerate(zip(state, windowed, strict=True))
    )
    attends = any(layer.key_values for layer in layers)
    kind: MemoryKind
    if any(state):
        kind, why = ("hybrid" if attends else "recurrent"), state_why
        if attends and any(windowed):
            why += f"; {window_why}"
    elif any(windowed):
        kind, why = "sliding window", window_why
    else:
        kind, why = "full", window_why or "no keys of windows or recurrent state"
    if not any(windowed):
        window_tokens = None
    return ModelMemory(kind=kind, decided_from=why, window_tokens=window_tokens, layers=layers)


def _state_layers(meta: Metadata) -> tuple[list[bool], str]:
    """Which layers keep a state, and how we know."""
    known, name, n_layers = _known(), meta.architecture, meta.n_layers
    if name in known.recurrent:
        return [True] * n_layers, f"architecture {name}"
    listed = meta.per_layer("*.attention.recurrent_layers")
    if listed is not None:
        return [bool(each) for each in listed], "attention.recurrent_layers"
    if name in known.state_in_every_layer:
        return [True] * n_layers, f"architecture {name}: state and attention in every layer"
    if name in known.attention_every:
        every = meta.count("*.full_attention_interval") or known.attention_every[name]
        state = [(index + 1) % every != 0 for index in range(n_layers)]
        return state, f"architecture {name}: one attention layer in {every}"
    heads = meta.kv_heads
    if name not in known.hybrid and not meta.has_any(*_STATE_GROUPS):
        return [False] * n_layers, ""
    why = f"architecture {name}" if name in known.hybrid else "keys of a recurrent state"
    if not any(heads):
        return [True] * n_layers, why
    return [not each for each in heads], f"{why}, head_count_kv 0 where a layer keeps a state"


def _windowed_layers(meta: Metadata) -> tuple[list[bool], int | None, str]:
    """Which layers attend within a window only, how long it is, and how we know."""
    n_layers, rule = meta.n_layers, _known().window.get(meta.architecture)
    tokens = meta.first_count("*.attention.sliding_window")
    if tokens is None and rule is not None:
        tokens = rule.default_tokens
    if not tokens:
        return [False] * n_layers, None, ""
    pattern = meta.value("*.attention.sliding_window_pattern")
    if isinstance(pattern, tuple):
        listed = meta.per_layer("*.attention.sliding_window_pattern") or ()
        return [bool(each) for each in listed], tokens, "attention.sliding_window_pattern"
    if rule is None:
        why = "attention.sliding_window is set, but llama.cpp keeps all tokens for "
        return [False] * n_layers, None, why + meta.architecture
    every = meta.count("*.attention.sliding_window_pattern")
    every = rule.full_every if every is None else every
    full_at = 0 if rule.full_first else every - 1
    windowed = [every == 0 or index % every != full_at for index in range(n_layers)]
    return windowed, tokens, f"attention.sliding_window, architecture {meta.architecture}"


def _layer(meta: Metadata, index: int, has_state: bool, windowed: bool) -> LayerMemory:
    heads = meta.kv_heads[index] if meta.kv_heads else 0
    both = meta.architecture in _known().state_in_every_layer
    if (has_state and not both) or index >= _first_shared_layer(meta):
        heads = 0
    key_length, value_length = _head_lengths(meta, index, windowed=windowed)
    if meta.count("*.attention.key_length_mla") and meta.count("*.attention.value_length_mla"):
        value_length = 0  # one latent vector serves as key and as value
    return LayerMemory(
        key_values=heads * key_length,
        value_values=heads * value_length,
        windowed=windowed,
        state_bytes=_FLOAT_BYTES * _state_values(meta) if has_state else 0,
    )


def _first_shared_layer(meta: Metadata) -> int:
    """From this layer on, the cache of earlier ones is used again."""
    own = _known().layers_with_own_cache.get(meta.architecture)
    if own is not None:
        return own
    return meta.n_layers - (meta.count("*.attention.shared_kv_layers") or 0)


def _head_lengths(meta: Metadata, index: int, *, windowed: bool) -> tuple[int, int]:
    heads = meta.per_layer("*.attention.head_count") or (0,) * meta.n_layers
    share = (meta.count("*.embedding_length") or 0) // heads[index] if heads[index] else 0
    lengths = []
    for kind in ("key", "value"):
        length = meta.count(f"*.attention.{kind}_length_swa") if windowed else None
        if length is None:
            length = meta.count(f"*.attention.{kind}_length")
        lengths.append(share if length is None else length)
    return lengths[0], lengths[1]


def _state_values(meta: Metadata) -> int:
    """Numbers of one layer's state for one sequence: the short convolution's and the memory's."""
    embedding = meta.count("*.embedding_length") or 0
    if head := meta.count("*.wkv.head_size"):
        shifts = meta.count("*.token_shift_count")
        return (2 if shifts is None else shifts) * embedding + embedding * head
    if length := meta.count("*.shortconv.l_cache"):
        return embedding * (length - 1)
    kernel = meta.count("*.ssm.conv_kernel") or 0
    if head := meta.count("*.kda.head_dim"):
        n_heads = meta.first_count("*.attention.head_count") or 0
        return 3 * ((kernel or 4) - 1) * n_heads * head + head * head * n_heads
    inner, state = meta.count("*.ssm.inner_size") or 0, meta.count("*.ssm.state_size") or 0
    groups = meta.count("*.ssm.group_count") or 0
    return max(0, kernel - 1) * (inner + 2 * groups * state) + state * inner
