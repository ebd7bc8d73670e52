"""What was answered about the parts of a long row, kept until the row has its own answer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import asdict
from typing import Any, cast, overload

import orjson

from vedette.backends.base import Backend, Handle, Result
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
    Usage,
)

from .journal import Journal
from .results import KEY_BYTES


class KeptParts:
    """Implements `Backend`: asks another one, and asks nothing twice that the journal knows.

    A request is known by all that stands in it. Results are written down when they are taken, on
    the thread that takes them, so one journal serves one driver. Only texts and scores are kept.
    """

    def __init__(self, backend: Backend, journal: Journal) -> None:
        self._backend = backend
        self._journal = journal
        self.n_known = 0
        """Requests that were answered by an earlier run."""

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
        submit = cast(Callable[[AnyRequest], Handle[Result]], self._backend.submit)
        if isinstance(request, EmbedRequest):
            return submit(request)
        key = _key(request)
        if self._journal.is_old(key):
            self.n_known += 1
            return _Known(_result(orjson.loads(self._journal.get(key))))
        return _Kept(submit(request), key, self._journal)

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


class _Known:
    """Implements `Handle` for what is there already."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def result(self, timeout_s: float | None = None) -> Result:
        del timeout_s
        return self._result

    def cancel(self) -> None:
        """Too late."""

    def on_done(self, callback: Callable[[], None]) -> None:
        callback()

    def __iter__(self) -> Iterator[str]:
        return iter((self._result.text,) if isinstance(self._result, Completion) else ())

    def __await__(self) -> Generator[Any, None, Result]:
        return self._result
        yield  # a generator, so that it can be awaited


class _Kept:
    """Implements `Handle`: another one, whose result is written down when it is taken."""

    def __init__(self, handle: Handle[Result], key: bytes, journal: Journal) -> None:
        self._handle = handle
        self._key = key
        self._journal = journal

    def result(self, timeout_s: float | None = None) -> Result:
        result = self._handle.result(timeout_s)
        if self._key not in self._journal:
            self._journal.add(self._key, _body(result))
        return result

    def cancel(self) -> None:
        self._handle.cancel()

    def on_done(self, callback: Callable[[], None]) -> None:
        self._handle.on_done(callback)

    def __iter__(self) -> Iterator[str]:
        return iter(self._handle)

    def __await__(self) -> Generator[Any, None, Result]:
        return self._handle.__await__()


def _key(request: Request | ScoreRequest) -> bytes:
    kind = type(request).__name__
    seen = orjson.dumps([kind, asdict(request)], option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(seen, digest_size=KEY_BYTES).digest()


def _body(result: Result) -> bytes:
    if isinstance(result, Completion):
        told: dict[str, object] = {
            "text": result.text,
            "finish_reason": result.finish_reason,
            "cut": result.cut,
            "thought": result.thought,
        }
    elif isinstance(result, Scores):
        told = {"choices": result.choices, "logprobs": result.logprobs}
    else:
        raise TypeError(f"a {type(result).__name__} is not kept")
    return orjson.dumps({**told, "usage": asdict(result.usage)})


def _result(body: dict[str, Any]) -> Result:
    usage = Usage(**body.pop("usage"))
    if "choices" in body:
        return Scores(choices=tuple(body["choices"]), logprobs=tuple(body["logprobs"]), usage=usage)
    return Completion(**body, usage=usage)
