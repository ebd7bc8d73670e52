"""Chat requests to a llama-server, many at once, with usage and wall time of each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import httpx2
import orjson

from vedette.errors import RequestError
from vedette.types import Usage

PATH = "/v1/chat/completions"
REPLY_TIMEOUT_S = 1800
CONNECT_TIMEOUT_S = 10
SHOWN_CHARACTERS = 200  # of a refusal that is no JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerReply:
    """One answer: its text, or why there is none in `error`. `wall_ms` includes the queue."""

    text: str = ""
    error: str = ""
    finish_reason: str = ""
    usage: Usage = field(default_factory=Usage)
    wall_ms: float = 0.0


def ask_all(url: str, bodies: Sequence[bytes], *, concurrency: int) -> list[PeerReply]:
    """Post every body, `concurrency` at once; the replies in order.

    A status other than 200 is an error reply. Raises `RequestError` when the server cannot be
    reached or stops answering.
    """
    return asyncio.run(_ask_all(url, bodies, concurrency))


async def _ask_all(url: str, bodies: Sequence[bytes], concurrency: int) -> list[PeerReply]:
    replies: list[PeerReply] = [PeerReply()] * len(bodies)
    todo = iter(enumerate(bodies))
    async with httpx2.AsyncClient(
        base_url=url,
        timeout=httpx2.Timeout(REPLY_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
        limits=httpx2.Limits(max_connections=concurrency, max_keepalive_connections=concurrency),
        trust_env=False,  # a proxy of the environment would stand between us and this machine
    ) as client:
        workers = [asyncio.create_task(_work(client, todo, replies)) for _ in range(concurrency)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
    return replies


async def _work(
    client: httpx2.AsyncClient, todo: Iterator[tuple[int, bytes]], replies: list[PeerReply]
) -> None:
    for index, body in todo:
        started = time.perf_counter()
        try:
            response = await client.post(
                PATH, content=body, headers={"content-type": "application/json"}
            )
        except httpx2.TransportError as error:
            reason = str(error) or type(error).__name__
            raise RequestError(f"the llama-server did not answer: {reason}") from error
        wall_ms = (time.perf_counter() - started) * 1000
        replies[index] = read_reply(response.status_code, response.content, wall_ms)


def read_reply(status: int, content: bytes, wall_ms: float) -> PeerReply:
    """What a response says, an unreadable one included."""
    try:
        data = orjson.loads(content)
        if status != httpx2.codes.OK:
            return PeerReply(error=f"HTTP {status}: {_reason(data)}", wall_ms=wall_ms)
        choice, used = data["choices"][0], data["usage"]
        details = used.get("prompt_tokens_details") or {}
        cached = details.get("cached_tokens", data.get("timings", {}).get("cache_n", 0))
        return PeerReply(
            text=choice["message"]["content"] or "",
            finish_reason=choice["finish_reason"] or "",
            usage=Usage(
                prompt_tokens=used["prompt_tokens"],
                cached_tokens=cached,
                sampled_tokens=used["completion_tokens"],
            ),
            wall_ms=wall_ms,
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        shown = content[:SHOWN_CHARACTERS].decode(errors="replace")
        return PeerReply(error=f"HTTP {status}, not a chat completion: {shown}", wall_ms=wall_ms)


def _reason(data: object) -> str:
    error = data.get("error") if isinstance(data, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return str(message or data)[:SHOWN_CHARACTERS]
