"""The server's own routes, asked from within: the same checks and answers, without a connection."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from dataclasses import dataclass
from urllib.parse import quote

from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.routing import Match
from starlette.types import Message, Scope

from .faults import told
from .problems import OWN_FAULT, Refusal, body_of

INSIDE = "vedette.inside"
"""The key of a scope that came from here; a connection cannot bring it."""
NOT_FROM_INSIDE = ("/v1/files", "/v1/batches", "/v1/adapters")
GONE = 499
NO_JSON_THERE = Refusal("what is answered there is no JSON, and a batch keeps JSON only")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as a client would have got it."""

    request_id: str
    status: int
    headers: Headers
    body: bytes

    @property
    def is_ok(self) -> bool:
        """Whether it is an answer, and no error."""
        return self.status < 300

    @property
    def is_worth_trying_again(self) -> bool:
        """Whether the same request may be answered later, as clients judge it."""
        is_refused_for_now = self.status == 429 or self.status >= 500
        return is_refused_for_now and self.headers.get("x-should-retry") != "false"


class Inside:
    """Asks an app."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    def takes(self, path: str) -> bool:
        """Whether something can be posted there that is answered by the backend."""
        if not path.startswith("/v1/") or path.startswith(NOT_FROM_INSIDE):
            return False
        return any(route.matches(_scope(path))[0] is Match.FULL for route in self._app.routes)

    async def post(self, path: str, body: bytes, leave: asyncio.Event) -> Reply:
        """The answer to a JSON body. Once `leave` is set the client counts as gone."""
        request_id = uuid.uuid4().hex
        incoming: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        status, headers, sent = 500, Headers(), bytearray()

        async def receive() -> Message:
            if incoming:
                return incoming.pop()
            await leave.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            nonlocal status, headers
            if message["type"] == "http.response.start":
                status, headers = message["status"], Headers(raw=message["headers"])
            else:
                sent.extend(message.get("body", b""))

        try:
            await self._app(_scope(path), receive, send)
        except Exception as error:
            _log.error("request %s failed by a fault of vedette\n%s", request_id, told(error))
            return _refused(request_id, OWN_FAULT)
        if headers.get("content-type") != "application/json":
            return _refused(request_id, NO_JSON_THERE)
        return Reply(request_id, status, headers, bytes(sent))


def _scope(path: str) -> Scope:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": quote(path).encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
        "client": None,
        "server": None,
        "state": {},
        INSIDE: True,
    }


def _refused(request_id: str, refusal: Refusal) -> Reply:
    body = json.dumps(body_of(refusal)).encode()
    return Reply(request_id, refusal.status, Headers(), body)
