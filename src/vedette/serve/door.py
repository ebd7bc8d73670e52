"""What happens to every request before and after it is answered: id, key, size, log line."""

from __future__ import annotations

import hmac
import logging
import time
import uuid
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .inside import INSIDE
from .options import ServeOptions, is_loopback
from .problems import OWN_FAULT, Refusal, response_of

OPEN_PATHS = ("/health", "/ready")
UPLOADS = ("POST", "/v1/files")
"""A body that is no JSON and has limits of its own: the route reads it as it comes."""

_log = logging.getLogger(__name__)


class Door:
    """ASGI middleware. Its log lines have no text of any prompt or answer, and no key."""

    def __init__(self, app: ASGIApp, options: ServeOptions) -> None:
        self._app = app
        self._options = options

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI has it."""
        if scope["type"] != "http" or INSIDE in scope:
            await self._app(scope, receive, send)
            return
        visit = _Visit(scope, send)
        try:
            await self._let_in(scope, receive, visit)
        finally:
            visit.log()

    async def _let_in(self, scope: Scope, receive: Receive, visit: _Visit) -> None:
        try:
            headers = Headers(scope=scope)
            self._check_host(headers)
            if scope["path"] not in OPEN_PATHS:
                self._check_key(headers)
            if (scope["method"], scope["path"]) == UPLOADS:
                await self._app(scope, receive, visit.send)
                return
            body = await self._body(headers, receive)
            if body is not None:
                await self._app(scope, _replayed(body, receive), visit.send)
        except Exception as error:
            if isinstance(error, Refusal):
                refusal = error
            else:
                _log.exception("request %s failed by a fault of vedette", visit.id)
                refusal = OWN_FAULT
            if visit.status is None:
                await response_of(refusal)(scope, receive, visit.send)
            elif not isinstance(error, Refusal):
                raise  # the answer has begun: all that is left is to break it off

    def _check_host(self, headers: Headers) -> None:
        """Without a key, a web page must not get here by a name of its own (DNS rebinding)."""
        if self._options.api_key:
            return
        host = headers.get("host", "")
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:  # a bracket without its other
            name = ""
        if not is_loopback(name):
            raise Refusal(
                f"the host {host!r} is not this machine; a server without an API key is for this "
                "machine only",
                status=403,
                code="wrong_host",
            )

    def _check_key(self, headers: Headers) -> None:
        if not self._options.api_key:
            return
        scheme, _, token = headers.get("authorization", "").partition(" ")
        shown = token.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")
        # In constant time: how long a refusal takes says nothing about the key.
        if not hmac.compare_digest(shown.encode("latin-1"), self._options.api_key.encode()):
            raise Refusal(
                "the API key is wrong" if shown else "an API key is needed: Authorization: Bearer",
                status=401,
                code="invalid_api_key",
            )

    async def _body(self, headers: Headers, receive: Receive) -> bytes | None:
        """The whole body; None if the client went away. Raises `Refusal` for one too large."""
        announced = headers.get("content-length", "")
        if announced.isdigit() and int(announced) > self._options.max_body_bytes:
            raise self._too_large()
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            if len(body) > self._options.max_body_bytes:
                raise self._too_large()
            if not message.get("more_body", False):
                return bytes(body)

    def _too_large(self) -> Refusal:
        return Refusal(
            f"the body is larger than {self._options.max_body_bytes} bytes",
            status=413,
            code="body_too_large",
        )


class _Visit:
    """One request: its id, and what was answered so far."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.id = uuid.uuid4().hex
        self.status: int | None = None
        self._scope = scope
        self._send = send
        self._began = time.monotonic()

    async def send(self, message: Message) -> None:
        """Pass it on, with the id in the headers."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            MutableHeaders(scope=message)["x-request-id"] = self.id
        await self._send(message)

    def log(self) -> None:
        """One line about it."""
        _log.info(
            "%s %s %s %s %.0f ms",
            self.id,
            self._scope["method"],
            self._scope["raw_path"].decode("ascii", "replace"),  # escaped, so one line stays one
            self.status or "gone",
            (time.monotonic() - self._began) * 1000,
        )


def _replayed(body: bytes, receive: Receive) -> Receive:
    """What the app receives: the body at once, then what the connection says."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay
