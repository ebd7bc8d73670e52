"""One HTTP/1.1 connection: uvicorn's, with bounds for clients that take their time."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import h11
import orjson
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from .options import READ_S
from .problems import Refusal, body_of

LINGER_S = 5.0
"""How long the rest of a body is thrown away after its request was refused."""

Awaited = Literal["head", "rest"]

NO_HTTP = Refusal("this is no HTTP request", code="invalid_request")
TOO_SLOW = Refusal("the head of the request came too slowly", status=408, code="request_timeout")


class Connection(H11Protocol):
    """Ends a connection whose request does not come within `read_s`.

    uvicorn has a limit for silence between requests only. With the head of a request dripping in,
    or a body that nobody wants any more, a client could hold connections for nothing until there
    are none left (slow loris). A body that is wanted has its limit in the door, which can still
    answer. What is no HTTP is answered in OpenAI's form too.
    """

    read_s = READ_S

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._awaited: Awaited | None = None
        self._limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """As asyncio's."""
        super().connection_made(transport)
        self._look()

    def data_received(self, data: bytes) -> None:
        """As asyncio's."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """As uvicorn's."""
        super().on_response_complete()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """As asyncio's."""
        super().connection_lost(exc)
        self._look()

    def send_400_response(self, msg: str) -> None:
        """As uvicorn's, which calls it for what is no HTTP."""
        self._refuse(NO_HTTP)

    def _look(self) -> None:
        """Begin to wait, or stop waiting. A client that sends a little does not get more time."""
        awaited = self._what_is_awaited()
        if awaited == self._awaited:
            return
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
        self._awaited = awaited
        if awaited is not None:
            seconds = self.read_s if awaited == "head" else LINGER_S
            self._limit = self.loop.call_later(seconds, self._too_slow)

    def _what_is_awaited(self) -> Awaited | None:
        if self.transport.is_closing():
            return None
        state = self.conn.their_state
        if state is h11.SEND_BODY and self.cycle.response_complete:
            return "rest"
        # Silence between two requests has uvicorn's own limit.
        has_begun = self.cycle is None or bool(self.conn.trailing_data[0])
        return "head" if state is h11.IDLE and has_begun else None

    def _too_slow(self) -> None:
        if self.transport.is_closing():
            return
        if self._awaited == "head" and self.conn.trailing_data[0]:
            self._refuse(TOO_SLOW)
        else:
            self.transport.close()

    def _refuse(self, refusal: Refusal) -> None:
        """Answer a request that never was one, and close."""
        body = orjson.dumps(body_of(refusal))
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        events = [
            h11.Response(status_code=refusal.status, headers=headers),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ]
        for event in events:
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
