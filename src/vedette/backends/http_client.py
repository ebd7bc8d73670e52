"""JSON over HTTP to one server: typed errors, bounded tries, and as many at once as it bears."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

import httpx2
import orjson
import stamina

from vedette.errors import AnswerInterrupted, ServerUnreachable, VedetteError

from . import failures
from .concurrency import AdaptiveLimit, Gate
from .failures import Trouble
from .sse import events

TRIES = 5
FIRST_WAIT_S, MOST_WAIT_S = 0.5, 20.0
CONNECT_TIMEOUT_S = 10.0
IDLE_S = 3.0
"""An idle connection is used again for so long; a llama-server closes it after 5 s."""

LOOPBACK = ("localhost", "127.0.0.1", "::1")

T = TypeVar("T")

# Each try that is made again counts, and the summary of a job says how many; a line for each one
# on stderr, which is where Python puts a logger's words that nobody asked for, is too much.
logging.getLogger("stamina").addHandler(logging.NullHandler())


class Reader(Protocol):
    """Takes the events of a streamed answer."""

    n_tokens: int
    has_passed_on: bool
    is_complete: bool

    def take(self, event: dict[str, Any]) -> None:
        """Take one event. Sets `has_passed_on` when somebody has seen text of the answer."""
        ...


R = TypeVar("R", bound=Reader)


def is_loopback(url: str) -> bool:
    """Whether the URL means this machine."""
    return urlsplit(url).hostname in LOOPBACK


class HttpClient:
    """Asks one server. All methods belong to one event loop.

    They raise what `failures` says, after at most `TRIES` tries. Once the server could not be
    reached at all these times, each request is tried once only, until one is answered: a job
    whose server has died ends soon. `server` is its name in errors, `key` a bearer token;
    `why_gone` knows why a server of our own has ended, if it has.
    """

    def __init__(
        self,
        url: str,
        limit: AdaptiveLimit,
        *,
        server: str,
        timeout_s: float,
        key: str = "",
        why_gone: Callable[[], VedetteError | None] = lambda: None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self.server = server
        self.resent = 0
        self._timeout_s = timeout_s
        self._gate = Gate(limit)
        self._quick = asyncio.Semaphore(1)
        self._is_down = False
        self._why_gone = why_gone
        self._http = httpx2.AsyncClient(
            base_url=url,
            timeout=httpx2.Timeout(timeout_s, connect=CONNECT_TIMEOUT_S, pool=None),
            limits=httpx2.Limits(
                max_connections=None,
                max_keepalive_connections=limit.most,
                keepalive_expiry=IDLE_S,
            ),
            headers={"authorization": f"Bearer {key}"} if key else {},
            trust_env=not is_loopback(url),  # a proxy cannot stand between us and this machine
            transport=transport,
        )

    async def get(self, path: str) -> dict[str, Any]:
        """The JSON object at a path."""
        return await self._tried(lambda: self._fetch("GET", path, None))

    async def ask(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """What a quick question is answered with; it needs no place among the requests.

        One at a time: a llama-server has two threads more than slots, and each connection keeps
        one, idle ones for seconds.
        """
        content = orjson.dumps(body)
        async with self._quick:
            return await self._tried(lambda: self._fetch("POST", path, content))

    async def generate(
        self, path: str, body: dict[str, Any], n_tokens: Callable[[dict[str, Any]], int]
    ) -> dict[str, Any]:
        """What a request that has the model work is answered with. `n_tokens` counts its work."""
        content = orjson.dumps(body)

        async def once() -> dict[str, Any]:
            async with self._place() as done:
                reply = await self._fetch("POST", path, content)
                done(n_tokens(reply))
                return reply

        return await self._tried(once)

    async def stream(self, path: str, body: dict[str, Any], reader: Callable[[], R]) -> R:
        """The same with a streamed answer, read by a new `reader` at each try.

        Raises `AnswerInterrupted` where it breaks off after text was passed on.
        """
        content = orjson.dumps(body)

        async def once() -> R:
            async with self._place() as done:
                taking = reader()
                try:
                    await self._read(path, content, taking)
                except Trouble as trouble:
                    if not taking.has_passed_on:
                        raise
                    raise Trouble(AnswerInterrupted(str(trouble.error))) from trouble
                done(taking.n_tokens)
                return taking

        return await self._tried(once)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _tried(self, once: Callable[[], Awaitable[T]]) -> T:
        """The outcome of the last try that was needed."""
        try:
            async for attempt in stamina.retry_context(
                on=backoff,
                attempts=1 if self._is_down else TRIES,
                timeout=None,
                wait_initial=FIRST_WAIT_S,
                wait_max=MOST_WAIT_S,
            ):
                with attempt:
                    self.resent += attempt.num > 1
                    result = await self._explained(once)
        except Trouble as trouble:
            self._is_down = trouble.is_unreachable
            raise trouble.error from trouble
        self._is_down = False
        return result

    async def _explained(self, once: Callable[[], Awaitable[T]]) -> T:
        """One try. A server of our own that has ended is not tried again."""
        try:
            return await once()
        except Trouble as trouble:
            gone = await asyncio.to_thread(self._why_gone) if trouble.is_unreachable else None
            if gone is None:
                raise
            raise Trouble(ServerUnreachable(gone.message, hint=gone.hint)) from trouble

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[Callable[[int], None]]:
        """A place among the requests, given back with what became of it."""
        limit = self._gate.limit
        await self._gate.enter()
        begun, began_s = limit.begin(), time.monotonic()
        try:
            yield lambda n_tokens: limit.answered(begun, time.monotonic() - began_s, n_tokens)
        except Trouble as trouble:
            if trouble.too_much:
                limit.refused(begun)
            raise
        finally:
            self._gate.leave()

    async def _fetch(self, method: str, path: str, content: bytes | None) -> dict[str, Any]:
        try:
            response = await self._http.request(
                method, path, content=content, headers={"content-type": "application/json"}
            )
        except httpx2.HTTPError as error:
            raise failures.of_transport(error, self.server, self._timeout_s) from error
        if response.status_code != httpx2.codes.OK:
            raise failures.of_response(
                response.status_code, response.headers, response.content, self.server
            )
        return self._object(response.content, "what is no JSON object")

    async def _read(self, path: str, content: bytes, reader: Reader) -> None:
        try:
            async with self._http.stream(
                "POST", path, content=content, headers={"content-type": "application/json"}
            ) as response:
                if response.status_code != httpx2.codes.OK:
                    raise failures.of_response(
                        response.status_code, response.headers, await response.aread(), self.server
                    )
                async for data in events(response.aiter_bytes()):
                    event = self._object(data, "an event that is no JSON object")
                    if event.get("error"):
                        raise failures.of_event(event["error"], self.server)
                    reader.take(event)
        except httpx2.HTTPError as error:
            raise failures.of_transport(error, self.server, self._timeout_s) from error
        if not reader.is_complete:
            raise failures.broken_off(self.server)

    def _object(self, content: bytes, what: str) -> dict[str, Any]:
        try:
            value = orjson.loads(content)
        except orjson.JSONDecodeError:
            value = None
        if not isinstance(value, dict):
            raise failures.no_sense(what, content, self.server)
        return value


def backoff(error: Exception) -> bool | float:
    """Whether to try again, and when, if the server says so."""
    if not isinstance(error, Trouble) or not error.retry:
        return False
    return True if error.wait_s is None else error.wait_s
