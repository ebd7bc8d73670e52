"""What happens to every request before and after it is answered: key, size, id, log, counts."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .activity import Activity, is_watching
from .faults import told
from .guard import Guard
from .inside import INSIDE
from .metrics import Metrics
from .options import SLOWEST_BYTES_PER_S, ServeOptions
from .problems import OWN_FAULT, Refusal, response_of
from .replay import replayed

UPLOADS = ("POST", "/v1/files")
"""A body that is no JSON and has limits of its own: the route reads it as it comes."""

_log = logging.getLogger(__name__)


class Door:
    """ASGI middleware. Its log lines have no text of any prompt or answer, and no key."""

    def __init__(
        self,
        app: ASGIApp,
        options: ServeOptions,
        guard: Guard,
        metrics: Metrics,
        activity: Activity | None = None,
    ) -> None:
        self._app = app
        self._options = options
        self._guard = guard
        self._metrics = metrics
        self._activity = activity

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI has it."""
        if scope["type"] != "http" or INSIDE in scope:
            await self._app(scope, receive, send)
            return
        visit = _Visit(scope, send)
        try:
            with self._metrics.visiting():
                await self._let_in(scope, receive, visit)
        finally:
            visit.log()
            self._metrics.visited(scope, visit.status, visit.seconds)
            if self._activity is not None:
                self._activity.visited(
                    id=visit.id,
                    method=scope["method"],
                    path=visit.path,
                    status=visit.status,
                    seconds=visit.seconds,
                )

    async def _let_in(self, scope: Scope, receive: Receive, visit: _Visit) -> None:
        try:
            headers = Headers(scope=scope)
            key = self._guard.identify(scope["path"], headers)
            if key is not None:
                visit.key = key.name
                self._guard.check(key, scope["path"])
            if (scope["method"], scope["path"]) == UPLOADS:
                await self._app(scope, receive, visit.send)
                return
            body = await self._body(headers, receive)
            if body is not None:
                await self._app(scope, replayed(body, receive), visit.send)
        except Exception as error:
            refusal = error if isinstance(error, Refusal) else OWN_FAULT
            if refusal is OWN_FAULT:
                _log.error("request %s failed by a fault of vedette\n%s", visit.id, told(error))
            if visit.status is None:
                await response_of(refusal)(scope, receive, visit.send)
            elif refusal is OWN_FAULT:
                # The answer has begun: all that is left is to break it off. Whoever logs this
                # does not get the message of the fault.
                raise ConnectionAbortedError("an answer was broken off by a fault") from None

    async def _body(self, headers: Headers, receive: Receive) -> bytes | None:
        """The whole body; None if the client went away. Raises `Refusal` for one too large or slow.

        A client that sends little by little would keep a connection for ever, for nothing.
        """
        announced = headers.get("content-length", "")
        if announced.isdigit() and int(announced) > self._options.max_body_bytes:
            raise self._too_large()
        body = bytearray()
        began = asyncio.get_running_loop().time()
        while True:
            limit = began + self._options.read_s + len(body) / SLOWEST_BYTES_PER_S
            try:
                async with asyncio.timeout_at(limit):
                    message = await receive()
            except TimeoutError:
                raise Refusal(
                    f"the body came too slowly: {len(body)} bytes so far",
                    status=408,
                    code="request_timeout",
                ) from None
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
    """One request: its id, whose key it had, and what was answered so far."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.id = uuid.uuid4().hex
        self.key = ""
        self.status: int | None = None
        self._scope = scope
        self._send = send
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """Since it came."""
        return time.monotonic() - self._began

    async def send(self, message: Message) -> None:
        """Pass it on, with the id in the headers."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            MutableHeaders(scope=message)["x-request-id"] = self.id
        await self._send(message)

    @property
    def path(self) -> str:
        """Escaped, so that one line stays one."""
        return str(self._scope["raw_path"].decode("ascii", "replace"))

    def log(self) -> None:
        """One line about it, if it is not of a page that looks on every second."""
        _log.log(
            logging.DEBUG if is_watching(self.path) else logging.INFO,
            "%s %s %s %s %.0f ms%s",
            self.id,
            self._scope["method"],
            self.path,
            self.status or "gone",
            self.seconds * 1000,
            f" key={self.key}" if self.key else "",
        )
