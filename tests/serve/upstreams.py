"""A larger model that is none: a real HTTP server that records what it is sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from served import served

USAGE = {"prompt_tokens": 40, "completion_tokens": 10, "total_tokens": 50}
NEVER_S = 30


def echo(body: dict[str, Any]) -> str:
    """The last turn, said again."""
    return str(body["messages"][-1]["content"])


def by_three(text: str) -> list[str]:
    return [text[i : i + 3] for i in range(0, len(text), 3)]


@dataclass
class Upstream:
    """What it does is `mode`; in the modes of `THEN_OK` only the first time."""

    mode: str = "ok"
    text: Callable[[dict[str, Any]], str] = echo
    pieces: Callable[[str], list[str]] = by_three
    usage: dict[str, int] | None = field(default_factory=lambda: dict(USAGE))
    delta_key: str = "content"
    url: str = ""
    bodies: list[bytes] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    left: int = 0

    @property
    def sent(self) -> str:
        """All that ever came here."""
        return "\n".join(body.decode() for body in self.bodies)

    @property
    def last(self) -> dict[str, Any]:
        return json.loads(self.bodies[-1])

    async def answer(self, request: Request) -> Response:
        content = await request.body()
        self.bodies.append(content)
        self.keys.append(request.headers.get("authorization", ""))
        mode, once, _ = self.mode.partition("-once")
        if once:
            self.mode = "ok"
        if mode.isdigit():
            error = {"message": f"no: {mode}", "type": "t", "param": None, "code": None}
            return JSONResponse({"error": error}, int(mode))
        if mode == "html":
            return PlainTextResponse("<html>hello</html>")
        if mode == "garbage":
            return JSONResponse({"choices": "none"})
        if mode == "slow":
            await asyncio.sleep(NEVER_S)
        body = json.loads(content)
        if body.get("stream"):
            return StreamingResponse(self._stream(mode, body), media_type="text/event-stream")
        if mode in ("break", "late"):
            return StreamingResponse(self._broken(), media_type="application/json")
        message = {"role": "assistant", "content": self.text(body)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        told = {"usage": self.usage} if self.usage else {}
        return JSONResponse(
            {"id": "x", "object": "chat.completion", "model": "big", "choices": [choice], **told}
        )

    async def _broken(self):
        yield b'{"id": "x", "choi'
        raise ConnectionError

    async def _stream(self, mode: str, body: dict[str, Any]):
        def event(delta: dict[str, Any], reason: str | None = None, **more: Any) -> bytes:
            choice = {"index": 0, "delta": delta, "finish_reason": reason}
            chunk = {"id": "x", "object": "chat.completion.chunk", "model": "big", "usage": None}
            return b"data: " + json.dumps({**chunk, "choices": [choice], **more}).encode() + b"\n\n"

        try:
            yield event({"role": "assistant", "content": ""})
            if mode == "break":
                raise ConnectionError
            if mode == "empty":
                yield b"data: [DONE]\n\n"
                return
            if mode == "error-event":
                yield b'data: {"error": {"message": "out of memory", "code": 500}}\n\n'
                return
            for i, piece in enumerate(self.pieces(self.text(body))):
                if mode == "late" and i == 2:
                    raise ConnectionError
                if mode == "garbage-event" and i == 2:
                    yield b"data: what?\n\n"
                if mode == "stall" and i == 2:
                    await asyncio.sleep(NEVER_S)
                yield event(self.delta(piece))
            yield event({}, "stop")
            if self.usage and (body.get("stream_options") or {}).get("include_usage"):
                told = {"id": "x", "choices": [], "usage": self.usage}
                yield b"data: " + json.dumps(told).encode() + b"\n\n"
            yield b"data: [DONE]\n\n"
        except asyncio.CancelledError:
            self.left += 1
            raise

    def delta(self, piece: str) -> dict[str, Any]:
        if self.delta_key != "tool":
            return {self.delta_key: piece}
        return {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}


@contextmanager
def upstream(**how: Any) -> Iterator[Upstream]:
    """Such a server, running."""
    one = Upstream(**how)
    app = FastAPI(openapi_url=None)
    app.post("/v1/chat/completions", response_model=None)(one.answer)
    with served(app) as url:
        one.url = f"{url}/v1"
        yield one
