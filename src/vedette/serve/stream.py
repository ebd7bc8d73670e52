"""Answers as server-sent events (WHATWG HTML, section 9.2), as OpenAI's clients read them."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping, Sequence

from fastapi import Request as HttpRequest
from fastapi.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from vedette.errors import VedetteError
from vedette.types import Completion, Request

from .desk import Desk, events
from .due_tokens import DueTokens
from .faults import told
from .pictures import Talk
from .problems import OWN_FAULT
from .shapes import Shape

PING = b": still here\n\n"

_log = logging.getLogger(__name__)


async def streamed(
    http: HttpRequest,
    desk: Desk,
    requests: Sequence[Request],
    shape: Shape,
    *,
    n_each: int,
    beside: Talk,
) -> Response:
    """The stream of these answers.

    It begins with the first text, so that an error before it is an HTTP error; raises what the
    desk raises. An error after that is an event, the last one.
    """
    chunks = _chunks(http, desk, requests, shape, n_each, beside)
    first = await anext(chunks)
    return EventStream(first, chunks, beside.headers)


async def _chunks(
    http: HttpRequest,
    desk: Desk,
    requests: Sequence[Request],
    shape: Shape,
    n_each: int,
    beside: Talk,
) -> AsyncGenerator[bytes]:
    completions: dict[int, Completion] = {}
    has_begun = False
    try:
        async with desk.under_way(requests) as handles:
            due = [DueTokens(handle) for handle in handles]
            async for event in events(http, handles):
                if not has_begun:
                    has_begun = True
                    opening = shape.opening(len(requests))
                    if opening:
                        opening[0] = {**opening[0], **beside.field}
                    yield b"".join(map(shape.framed, opening))
                if event is None:
                    yield PING
                    continue
                index, what = event
                if isinstance(what, Completion):
                    completions[index] = what
                    chunks = shape.ending(index, what, due[index].rest(what))
                else:
                    chunks = shape.piece(index, what, due[index].with_text(what))
                for chunk in chunks:
                    yield shape.framed(chunk)
    except VedetteError as error:
        if not has_begun:
            raise
        yield shape.framed(shape.failure(error))
        return
    except Exception as error:
        if not has_begun:
            raise
        _log.error("a stream broke off by a fault of vedette\n%s", told(error))
        yield shape.framed(shape.failure(OWN_FAULT))
        return
    whole = [completions[index] for index in range(len(requests))]
    yield b"".join(map(shape.framed, shape.closing(whole, n_each))) + shape.end


class EventStream(StreamingResponse):
    """Closes its chunks however it ends, so that nothing runs on for a client that left."""

    def __init__(
        self, first: bytes, chunks: AsyncGenerator[bytes], headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(
            _joined(first, chunks),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no", **(headers or {})},
        )
        self._chunks = chunks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As Starlette's."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._chunks.aclose()


async def _joined(first: bytes, chunks: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    if first:
        yield first
    async for chunk in chunks:
        yield chunk
