"""The in-process engine under adapters: each request is answered by the same persona."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from vedette.errors import InputError
from vedette.models.fingerprint import file_sha256
from vedette.types import (
    AdapterScales,
    AnyRequest,
    Capabilities,
    Json,
)

from .around import Around
from .base import Handle, Result
from .local import LocalBackend

R = TypeVar("R", bound=AnyRequest)


class Adapted(Around):
    """Implements `Backend` over a local one, which it closes: all requests under `adapters`.

    To all that goes by the model (journals, kept places, threshold files, probes) it is another
    model: the base with these adapters, known by the hashes of their files, at these scales.
    Raises `InputError` for adapters that are not loaded.
    """

    def __init__(self, backend: LocalBackend, adapters: AdapterScales) -> None:
        super().__init__(backend)
        backend.engine.check_adapters(adapters)
        self.local = backend
        self._adapters = adapters
        self._files = {name: backend.adapters[name].path for name, _ in adapters}

    @property
    def name(self) -> str:
        """The model's, and what is applied to it."""
        applied = " + ".join(f"{name} ({scale:g})" for name, scale in self._adapters)
        return f"{self.local.name} + {applied}" if applied else self.local.name

    @property
    def capabilities(self) -> Capabilities:
        """The local one's; how much text is of use was measured without adapters."""
        return replace(self.local.capabilities, useful_tokens=None)

    @property
    def identity(self) -> dict[str, Json]:
        """The base's identity, and the adapters by their hashes; names change no answer."""
        used: list[Json] = [
            {"sha256": file_sha256(self._files[name]), "scale": scale}
            for name, scale in self._adapters
            if scale
        ]
        if not used:
            return self.local.identity
        return {"base": self.local.identity, "adapters": sorted(used, key=str)}

    def answered(self, request: AnyRequest) -> Handle[Result]:
        """Under the adapters."""
        return super().answered(self._under_adapters(request))

    def check(self, request: AnyRequest) -> None:
        """See `Backend.check`."""
        super().check(self._under_adapters(request))

    def close(self) -> None:
        """Close the local backend."""
        self.local.close()

    def _under_adapters(self, request: R) -> R:
        if request.adapters:
            raise InputError("the request names adapters, and this backend has its own for all")
        return replace(request, adapters=self._adapters)
