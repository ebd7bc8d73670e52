"""A larger model behind OpenAI's protocol: asked with bounded tries, whole or as a stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Protocol, TypeVar

import httpx2
import orjson
import stamina

from vedette.backends import failures
from vedette.backends.failures import Trouble
from vedette.backends.http_client import CONNECT_TIMEOUT_S, backoff, is_loopback
from vedette.backends.sse import events
from vedette.errors import AccessDenied, AnswerInterrupted, ServerFailed, ServerTimeout
from vedette.tasks.gate import Price

from .messages import counting
from .passage import Object
from .tables import TierTable

FIRST_WAIT_S, MOST_WAIT_S = 0.2, 5.0
IDLE_CONNECTIONS = 32
T = TypeVar("T")


class Tier(Protocol):
    """Somebody who answers chat completions, in OpenAI's form on both sides."""

    @property
    def model(self) -> str:
        """The model's name."""
        ...

    @property
    def price(self) -> Price:
        """What its tokens cost."""
        ...

    async def whole(self, body: Object) -> Object:
        """The whole answer. Raises a `VedetteError`."""
        ...

    def stream(self, body: Object) -> AsyncGenerator[Object]:
        """The chunks of the answer, its usage in the last one.

        The first chunk comes with the first text; what is raised before it is as if nothing had
        been asked. After it `AnswerInterrupted`, or another `VedetteError`, says that there is no
        more to come.
        """
        ...


class Upstream:
    """Implements `Tier` over HTTP. All methods belong to one event loop.

    Raises `ServerError`s for what goes wrong there, and `InputError`s for what the server says is
    wrong with the request.
    """

    def __init__(
        self, name: str, table: TierTable, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        self.name = name
        self._table = table
        self._server = f"the tier {name}"
        key = table.api_key
        self._http = httpx2.AsyncClient(
            base_url=table.base_url.rstrip("/"),
            timeout=httpx2.Timeout(
                table.timeout_s, connect=min(CONNECT_TIMEOUT_S, table.timeout_s), pool=None
            ),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=IDLE_CONNECTIONS),
            headers={"authorization": f"Bearer {key.get_secret_value()}"} if key else {},
            trust_env=not is_loopback(table.base_url),
            verify=table.base_url.startswith("https:"),  # certificates take long to load
            transport=transport,
        )

    @property
    def model(self) -> str:
        """See `Tier`."""
        return self._table.model

    @property
    def price(self) -> Price:
        """See `Tier`."""
        return Price(*self._table.price)

    async def whole(self, body: Object) -> Object:
        """See `Tier`."""
        content = self._content(body)

        async def once() -> Object:
            async with self._in_time(), self._asked(content) as response:
                return self._answer(await response.aread())

        return await self._tried(once)

    async def stream(self, body: Object) -> AsyncGenerator[Object]:
        """See `Tier`."""
        content = self._content(counting(body))
        n = body.get("n") or 1

        async def begun() -> tuple[list[Object], AsyncGenerator[Object]]:
            chunks = self._chunks(content, n)
            try:
                async with self._in_time():
                    return await _first(chunks), chunks
            except BaseException:
                await chunks.aclose()
                raise

        opening, chunks = await self._tried(begun)
        async with aclosing(chunks):
            for chunk in opening:
                yield chunk
            try:
                async for chunk in chunks:
                    yield chunk
            except Trouble as trouble:
                raise AnswerInterrupted(str(trouble.error)) from trouble

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def _content(self, body: Object) -> bytes:
        return orjson.dumps({**body, "model": self._table.model})

    async def _tried(self, once: Callable[[], Awaitable[T]]) -> T:
        """The outcome of the last try that was needed."""
        try:
            async for attempt in stamina.retry_context(
                on=backoff,
                attempts=self._table.tries,
                timeout=None,
                wait_initial=FIRST_WAIT_S,
                wait_max=MOST_WAIT_S,
            ):
                with attempt:
                    result = await once()
        except Trouble as trouble:
            if isinstance(trouble.error, AccessDenied):  # the client's own key is not in question
                raise ServerFailed(
                    trouble.error.message, hint=f"check api_key of [gateway.tiers.{self.name}]"
                ) from trouble
            raise trouble.error from trouble
        return result

    @asynccontextmanager
    async def _in_time(self) -> AsyncIterator[None]:
        """A try that may take so long. Raises `Trouble`."""
        limit_s = self._table.timeout_s
        try:
            async with asyncio.timeout(limit_s):
                yield
        except TimeoutError as error:
            late = ServerTimeout(
                f"{self._server} did not answer within {limit_s:g} s",
                hint=f"raise timeout_s of [gateway.tiers.{self.name}]",
            )
            raise Trouble(late) from error

    @asynccontextmanager
    async def _asked(self, content: bytes) -> AsyncIterator[httpx2.Response]:
        """A response that is 200. Raises `Trouble`, also for what goes wrong while it is read."""
        headers = {"content-type": "application/json"}
        try:
            async with self._http.stream(
                "POST", "chat/completions", content=content, headers=headers
            ) as response:
                if response.status_code != httpx2.codes.OK:
                    raise self._refused(response, await response.aread())
                yield response
        except httpx2.HTTPError as error:
            raise failures.of_transport(error, self._server, self._table.timeout_s) from error

    def _refused(self, response: httpx2.Response, content: bytes) -> Trouble:
        status = response.status_code
        if status not in (404, 405, 501):
            return failures.of_response(status, response.headers, content, self._server)
        # A wrong URL or model name is no mistake of the client's.
        return Trouble(
            ServerFailed(
                f"{self._server} has no such model or address (HTTP {status})",
                hint=f"check base_url and model of [gateway.tiers.{self.name}]",
            )
        )

    def _answer(self, content: bytes) -> Object:
        value = _object(content)
        choices = value.get("choices") if value is not None else None
        if (
            value is None
            or not choices
            or not _are_objects(choices)
            or not all(isinstance(choice.get("message"), dict) for choice in choices)
        ):
            raise failures.no_sense("what is no chat completion", content, self._server)
        return value

    async def _chunks(self, content: bytes, n: int) -> AsyncGenerator[Object]:
        """The chunks of one try. Raises `Trouble`."""
        finished: set[int] = set()
        async with self._asked(content) as response:
            if not response.headers.get("content-type", "").startswith("text/event-stream"):
                content = await response.aread()
                raise failures.no_sense("what is no stream of events", content, self._server)
            async for data in events(response.aiter_bytes()):
                chunk = _object(data)
                if chunk is not None and chunk.get("error"):
                    raise failures.of_event(chunk["error"], self._server)
                if chunk is None or not _are_objects(chunk.get("choices")):
                    raise failures.no_sense("an event that is no chunk", data, self._server)
                finished |= {
                    choice.get("index", 0)
                    for choice in chunk["choices"]
                    if choice.get("finish_reason")
                }
                yield chunk
        if len(finished) < n:
            raise failures.broken_off(self._server)


async def _first(chunks: AsyncGenerator[Object]) -> list[Object]:
    """The chunks up to the first one that says something."""
    opening: list[Object] = []
    async for chunk in chunks:
        opening.append(chunk)
        if any(_says(choice) for choice in chunk["choices"]):
            return opening
    return opening


def _says(choice: Object) -> bool:
    delta = choice.get("delta") or {}
    has_said = any(value for name, value in delta.items() if name != "role")
    return has_said or bool(choice.get("finish_reason"))


def _object(content: bytes) -> Object | None:
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _are_objects(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)
