"""Typed looks into a GGUF's metadata: a value of the wrong kind is a corrupt model."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import NoReturn

from vedette.models.gguf_header import Value, corrupt

_MAX_LAYERS = 512  # as llama.cpp has it


class Metadata:
    """The key-value part of one file. In keys, `*` stands for the architecture's name."""

    def __init__(self, path: Path | str, values: Mapping[str, Value]) -> None:
        self._path = path
        self._values = values

    def value(self, key: str) -> Value | None:
        """As it stands in the file, or None."""
        if key.startswith("*."):
            key = self.architecture + key[1:]
        return self._values.get(key)

    def has_any(self, *groups: str) -> bool:
        """Does any key stand below one of these groups, such as `*.ssm.`?"""
        prefixes = tuple(group.replace("*", self.architecture, 1) for group in groups)
        return any(key.startswith(prefixes) for key in self._values)

    @cached_property
    def architecture(self) -> str:
        """What llama.cpp loads it as."""
        name = self._values.get("general.architecture")
        if not isinstance(name, str) or not name:
            raise corrupt(self._path, "it does not say its architecture")
        return name

    @cached_property
    def n_layers(self) -> int:
        """Blocks, without those that only serve multi-token prediction."""
        n_blocks = self.count("*.block_count") or 0
        if n_blocks > _MAX_LAYERS:
            raise corrupt(self._path, f"it announces {n_blocks} layers")
        return max(0, n_blocks - (self.count("*.nextn_predict_layers") or 0))

    @cached_property
    def kv_heads(self) -> tuple[int, ...]:
        """Key-value heads of each layer; empty if the architecture has no attention."""
        return (
            self.per_layer("*.attention.head_count_kv")
            or self.per_layer("*.attention.head_count")
            or ()
        )

    def text(self, key: str) -> str | None:
        """A string, or None if the key is absent."""
        value = self.value(key)
        if value is not None and not isinstance(value, str):
            self._wrong(key, "a text")
        return value

    def number(self, key: str) -> float | None:
        """A number, or None if the key is absent."""
        value = self.value(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self._wrong(key, "a number")
        return float(value)

    def count(self, key: str) -> int | None:
        """A whole number from 0 on, or None if the key is absent."""
        value = self.value(key)
        if value is None:
            return None
        if type(value) is not int or value < 0:
            self._wrong(key, "a count")
        return value

    def first_count(self, key: str) -> int | None:
        """A count, or the first of a list of them."""
        value = self.value(key)
        if isinstance(value, tuple) and value and type(value[0]) is int and value[0] >= 0:
            return value[0]
        return self.count(key)

    def per_layer(self, key: str) -> tuple[int, ...] | None:
        """One count for each layer; a single one in the file stands for all. None if absent."""
        value = self.value(key)
        if value is None:
            return None
        if not isinstance(value, tuple):
            return (self.count(key) or 0,) * self.n_layers
        counts = tuple(each for each in value if type(each) in (int, bool) and int(each) >= 0)
        if len(counts) != len(value) or len(counts) < self.n_layers:
            self._wrong(key, f"a list of one count for each of {self.n_layers} layers")
        return tuple(int(each) for each in counts)[: self.n_layers]

    def _wrong(self, key: str, wanted: str) -> NoReturn:
        full_key = repr(key.replace("*", self.architecture, 1))[:80]
        raise corrupt(self._path, f"{full_key} is {repr(self.value(key))[:40]}, not {wanted}")
