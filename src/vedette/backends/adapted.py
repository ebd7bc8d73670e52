"""The in-process engine under adapters: each request is answered by the same persona."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar, cast, overload

from vedette.errors import InputError
from vedette.models.fingerprint import file_sha256
from vedette.types import (
    AdapterScales,
    AnyRequest,
    Capabilities,
    Completion,
    Embedding,
    EmbedRequest,
    Json,
    Request,
    ScoreRequest,
    Scores,
)

from .base import Handle, Result
from .local import LocalBackend

R = TypeVar("R", bound=AnyRequest)


class Adapted:
    """Implements `Backend` over a local one, which it closes: all requests under `adapters`.

    To all that goes by the model (journals, kept places, threshold files, probes) it is another
    model: the base with these adapters, known by the hashes of their files, at these scales.
    Raises `InputError` for adapters that are not loaded.
    """

    def __init__(self, backend: LocalBackend, adapters: AdapterScales) -> None:
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

    @property
    def width(self) -> int:
        """See `LocalBackend`."""
        return self.local.width

    @property
    def counts(self) -> Mapping[str, int]:
        """See `LocalBackend`."""
        return self.local.counts

    @overload
    def submit(self, request: Request) -> Handle[Completion]: ...
    @overload
    def submit(self, request: ScoreRequest) -> Handle[Scores]: ...
    @overload
    def submit(self, request: EmbedRequest) -> Handle[Embedding]: ...
    def submit(self, request: AnyRequest) -> Handle[Result]:
        """Queue a request under the adapters; see `Backend.submit`."""
        # The overloads of `submit` take one kind of request each, and this is any.
        submit = cast(Callable[[AnyRequest], Handle[Result]], self.local.submit)
        return submit(self._under_adapters(request))

    def check(self, request: AnyRequest) -> None:
        """See `Backend.check`."""
        self.local.check(self._under_adapters(request))

    def show_prompt(self, request: AnyRequest) -> str:
        """See `Backend.show_prompt`; adapters change no prompt."""
        return self.local.show_prompt(request)

    def count_tokens(self, text: str) -> int:
        """See `Backend.count_tokens`."""
        return self.local.count_tokens(text)

    def close(self) -> None:
        """Close the local backend."""
        self.local.close()

    def _under_adapters(self, request: R) -> R:
        if request.adapters:
            raise InputError("the request names adapters, and this backend has its own for all")
        return replace(request, adapters=self._adapters)
