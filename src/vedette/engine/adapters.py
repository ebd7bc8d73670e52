"""The adapters of an engine by name: added and removed while requests run."""

from __future__ import annotations

import math
import re
import threading
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from vedette.errors import InputError
from vedette.models.adapter_file import AdapterFile, check_base, read_adapter
from vedette.models.gguf_header import Header, read_header
from vedette.types import AdapterScales

from .errands import Errands
from .llama.adapter import NO_ADAPTERS, Adapter, AdapterSet
from .llama.model import Model
from .room import Room

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(slots=True, eq=False)
class _Entry:
    """One adapter; `n_users` requests under way are computed under it."""

    name: str
    file: AdapterFile
    adapter: Adapter
    n_users: int = 0
    is_removed: bool = False


class Adapters:
    """Knows the adapters that are loaded, and which requests still need them. Any thread.

    An adapter that is removed while requests use it takes no new ones, and is freed when the last
    of them has ended.
    """

    def __init__(self, model: Model, errands: Errands) -> None:
        self._model = model
        self._errands = errands
        self._adding = threading.Lock()
        self._lock = threading.Lock()
        self._by_name: dict[str, _Entry] = {}
        self._entries: dict[Adapter, _Entry] = {}  # removed ones too, until they are freed

    @cached_property
    def _base(self) -> Header:
        return read_header(self._model.path)

    @property
    def loaded(self) -> dict[str, AdapterFile]:
        """Those that requests may name, in the order in which they were added."""
        with self._lock:
            return {name: entry.file for name, entry in self._by_name.items()}

    def add(self, name: str, path: Path) -> AdapterFile:
        """Load an adapter, applied to nothing until a request names it.

        Raises `InputError` for a name that is taken or not one, `AdapterRefused` for an adapter
        that does not go with the model, and what reading the file raises.
        """
        check_name(name)
        with self._adding:
            if name in self._by_name:
                raise InputError(
                    f"there is an adapter {name!r} already", hint="remove it first, or rename it"
                )
            file = read_adapter(path)
            check_base(file, self._base, self._model.path.name)
            adapter = self._errands.run(lambda _: Adapter(self._model, path))
            entry = _Entry(name, file, adapter)
            with self._lock:
                self._by_name[name] = self._entries[adapter] = entry
            return file

    def remove(self, name: str) -> int:
        """Take an adapter away; how many requests under way still have it to their end.

        New ones are refused from now on. Raises `InputError` for one that is not there.
        """
        with self._lock:
            entry = self._named(name)
            del self._by_name[name]
            entry.is_removed = True
            n_users = entry.n_users
            if not n_users:
                del self._entries[entry.adapter]
        if not n_users:
            self._errands.run(partial(_unload, entry.adapter))
        return n_users

    def take(self, asked: AdapterScales) -> AdapterSet:
        """The set that a request names, kept loaded for it until `release`.

        A scale of 0 is no use of an adapter. Raises `InputError` for one that is not loaded, is
        named twice, or has a scale that is no number.
        """
        if not asked:
            return NO_ADAPTERS
        with self._lock:
            found: dict[Adapter, float] = {}
            for name, scale in asked:
                if not math.isfinite(scale):
                    raise InputError(f"the scale of the adapter {name!r} is {scale}")
                adapter = self._named(name).adapter
                if adapter in found:
                    raise InputError(f"the adapter {name!r} is named twice")
                found[adapter] = scale
            used = sorted((each for each in found if found[each]), key=lambda each: each.number)
            for adapter in used:
                self._entries[adapter].n_users += 1
            return AdapterSet(tuple((adapter, found[adapter]) for adapter in used))

    def release(self, adapters: AdapterSet) -> None:
        """A request has ended: what was removed meanwhile and is nobody's now is freed."""
        if not adapters:
            return
        with self._lock:
            for adapter, _ in adapters.parts:
                entry = self._entries[adapter]
                entry.n_users -= 1
                if entry.is_removed and not entry.n_users:
                    del self._entries[adapter]
                    self._errands.post(partial(_unload, adapter))

    def check(self, asked: AdapterScales) -> None:
        """Raises as `take` does."""
        self.release(self.take(asked))

    def _named(self, name: str) -> _Entry:
        entry = self._by_name.get(name)
        if entry is None:
            known = ", ".join(self._by_name)
            raise InputError(
                f"there is no adapter {name!r} here",
                hint=f"loaded are {known}" if known else "none is loaded",
            )
        return entry


def check_name(name: str) -> None:
    """Raise `InputError` unless an adapter may be called so."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name!r} is no name for an adapter",
            hint="up to 64 letters, digits, dots, dashes and underscores; a letter or digit first",
        )


def _unload(adapter: Adapter, room: Room) -> None:
    """Free an adapter that no sequence is computed under any more."""
    room.forget(adapter)
    adapter.close()
