"""This server's own model as a tier of the gateway: asked as a client would, behind the door."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vedette.backends.sse import events
from vedette.errors import (
    AnswerInterrupted,
    CapabilityMissing,
    DeadlineExceeded,
    EngineFailed,
    InputError,
    InputTooLong,
    Overloaded,
    VedetteError,
)
from vedette.gateway.gateway import FREE
from vedette.gateway.messages import counting
from vedette.gateway.passage import Object
from vedette.tasks.gate import Price

_KINDS: dict[int, type[VedetteError]] = {
    429: Overloaded,
    501: CapabilityMissing,
    504: DeadlineExceeded,
}


class LocalTier:
    """Implements `Tier` over the app that answers chat completions. `scope` is the client's."""

    def __init__(self, app: ASGIApp, scope: Scope, model: str) -> None:
        self._app = app
        self._scope = scope
        self.model = model
        """See `Tier`."""

    @property
    def price(self) -> Price:
        """See `Tier`."""
        return FREE

    async def whole(self, body: Object) -> Object:
        """See `Tier`."""
        async with self._asked(body) as (status, chunks):
            value = _object(b"".join([chunk async for chunk in chunks]))
        if status != 200:
            raise _error_of(value, status)
        return value

    async def stream(self, body: Object) -> AsyncGenerator[Object]:
        """See `Tier`."""
        n_open = body.get("n") or 1
        async with self._asked(counting(body)) as (status, chunks):
            if status != 200:
                raise _error_of(_object(b"".join([chunk async for chunk in chunks])), status)
            async for data in events(chunks):
                value = _object(data)
                if "error" in value:
                    raise AnswerInterrupted(_error_of(value, 500).message)
                n_open -= sum(bool(one.get("finish_reason")) for one in value["choices"])
                yield value
        if n_open:
            raise AnswerInterrupted("the local model's answer broke off")

    @asynccontextmanager
    async def _asked(self, body: Object) -> AsyncIterator[tuple[int, AsyncIterator[bytes]]]:
        """Status and content of the response, while it is read; then nothing runs on."""
        content = orjson.dumps({**body, "model": self.model})
        scope = {
            **self._scope,
            "headers": [
                (b"content-type", b"application/json"),
                (b"content-length", str(len(content)).encode()),
            ],
        }
        told: asyncio.Queue[Message | None] = asyncio.Queue()
        running = asyncio.create_task(_run(self._app, scope, _body(content), told))
        try:
            start = await told.get()
            if start is None:
                await running  # raises what went wrong
                raise EngineFailed("the local model gave no answer")
            yield start["status"], _contents(told)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def _run(
    app: ASGIApp, scope: Scope, receive: Receive, told: asyncio.Queue[Message | None]
) -> None:
    send: Send = told.put
    try:
        await app(scope, receive, send)
    finally:
        told.put_nowait(None)


def _body(content: bytes) -> Receive:
    """The body at once. The client that could leave is watched elsewhere: this one never does."""
    messages: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]

    async def receive() -> Message:
        if not messages:
            await asyncio.Event().wait()
        return messages.pop()

    return receive


async def _contents(told: asyncio.Queue[Message | None]) -> AsyncIterator[bytes]:
    while (message := await told.get()) is not None:
        yield message.get("body", b"")


def _object(content: bytes) -> Object:
    value: Any = orjson.loads(content)
    if not isinstance(value, dict):
        raise TypeError("this server answers with objects")
    return value


def _error_of(value: Object, status: int) -> VedetteError:
    """The error that a response tells, as one that the gateway knows what to do about."""
    told = value["error"]
    if told["code"] == "context_length_exceeded":
        return InputTooLong(told["message"])
    kind = InputError if 400 <= status < 500 else EngineFailed
    return _KINDS.get(status, kind)(told["message"])
