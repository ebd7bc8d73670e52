"""A backend around another one, which answers what it can itself."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any, cast, overload

from vedette.types import (
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

from .base import Backend, Handle, Result


class Around:
    """Implements `Backend`: asks another one, unless `answered` says otherwise."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def answered(self, request: AnyRequest) -> Handle[Result]:
        """The answer; by default the other backend's."""
        # Its overloads take one kind of request each, and this is any.
        return cast(Callable[[AnyRequest], Handle[Result]], self._backend.submit)(request)

    @property
    def name(self) -> str:
        """See `Backend`."""
        return self._backend.name

    @property
    def capabilities(self) -> Capabilities:
        """See `Backend`."""
        return self._backend.capabilities

    @property
    def identity(self) -> dict[str, Json]:
        """See `Backend`."""
        return self._backend.identity

    @property
    def width(self) -> int:
        """See `Backend`."""
        return self._backend.width

    @property
    def counts(self) -> Mapping[str, int]:
        """See `Backend`."""
        return self._backend.counts

    @overload
    def submit(self, request: Request) -> Handle[Completion]: ...
    @overload
    def submit(self, request: ScoreRequest) -> Handle[Scores]: ...
    @overload
    def submit(self, request: EmbedRequest) -> Handle[Embedding]: ...
    def submit(self, request: AnyRequest) -> Handle[Result]:
        """See `Backend`; what is known is there at once."""
        return self.answered(request)

    def check(self, request: AnyRequest) -> None:
        """See `Backend`."""
        self._backend.check(request)

    def show_prompt(self, request: AnyRequest) -> str:
        """See `Backend`."""
        return self._backend.show_prompt(request)

    def count_tokens(self, text: str) -> int:
        """See `Backend`."""
        return self._backend.count_tokens(text)

    def close(self) -> None:
        """Nothing: the backend is its opener's."""


class Known:
    """Implements `Handle` for what is there already."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def result(self, timeout_s: float | None = None) -> Result:
        """See `Handle`."""
        del timeout_s
        return self._result

    def cancel(self) -> None:
        """Too late."""

    def on_done(self, callback: Callable[[], None]) -> None:
        """See `Handle`."""
        callback()

    def __iter__(self) -> Iterator[str]:
        return iter((self._result.text,) if isinstance(self._result, Completion) else ())

    def __await__(self) -> Generator[Any, None, Result]:
        return self._result
        yield  # a generator, so that it can be awaited


class Noted:
    """Implements `Handle`: another one, whose result is given to `note` each time it is taken.

    What `note` returns is the result. It runs on the thread that takes it.
    """

    def __init__(self, handle: Handle[Result], note: Callable[[Result], Result]) -> None:
        self._handle = handle
        self._note = note

    def result(self, timeout_s: float | None = None) -> Result:
        """See `Handle`."""
        return self._note(self._handle.result(timeout_s))

    def cancel(self) -> None:
        """See `Handle`."""
        self._handle.cancel()

    def on_done(self, callback: Callable[[], None]) -> None:
        """See `Handle`."""
        self._handle.on_done(callback)

    def __iter__(self) -> Iterator[str]:
        return iter(self._handle)

    def __await__(self) -> Generator[Any, None, Result]:
        return self._note((yield from self._handle.__await__()))
