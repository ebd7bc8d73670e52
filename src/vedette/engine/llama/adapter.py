"""LoRA adapters: loaded beside a model's weights, and which of them a context applies."""

from __future__ import annotations

import ctypes
import itertools
import os
from dataclasses import dataclass
from pathlib import Path

import llama_cpp

from vedette.errors import EngineFailed, ModelCorrupt

from . import library
from .model import Model

_numbers = itertools.count()


class Adapter:
    """The factors of one adapter, loaded for a model and not applied to anything yet.

    Made and closed only while no context of the model decodes: llama.cpp sizes its computations by
    a list of adapters that both of them change. What its header says must have been checked before
    (`models.adapter_file`). Raises `ModelCorrupt` for a file that llama.cpp refuses all the same.
    """

    def __init__(self, model: Model, path: Path) -> None:
        self.path = path
        self.number = next(_numbers)
        self.pointer = llama_cpp.llama_adapter_lora_init(model.pointer, os.fsencode(path))
        if not self.pointer:
            raise ModelCorrupt(
                f"llama.cpp cannot load the adapter {path}: "
                f"{library.last_complaint() or 'no reason given'}"
            )

    def close(self) -> None:
        """Free it. No context may apply it any more."""
        pointer, self.pointer = self.pointer, None
        if pointer:
            llama_cpp.llama_adapter_lora_free(pointer)


@dataclass(frozen=True, slots=True)
class AdapterSet:
    """Adapters with their scales, ordered by their numbers: what a sequence is computed under.

    Two sets are equal where the same loaded adapters have the same scales; one that was removed
    and added again is another.
    """

    parts: tuple[tuple[Adapter, float], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.parts)

    def holds(self, adapter: Adapter) -> bool:
        """Whether this adapter is one of them."""
        return any(each is adapter for each, _ in self.parts)

    def apply(self, context: llama_cpp.llama_context_p) -> None:
        """Have a context apply these and no others. Raises `EngineFailed`."""
        n = len(self.parts)
        adapters = (llama_cpp.llama_adapter_lora_p_ctypes * n)(
            *(each.pointer for each, _ in self.parts)
        )
        scales = (ctypes.c_float * n)(*(scale for _, scale in self.parts))
        status = llama_cpp.llama_set_adapters_lora(context, adapters, n, scales)
        if status != 0:
            raise EngineFailed(f"llama_set_adapters_lora returned {status}")


NO_ADAPTERS = AdapterSet()
