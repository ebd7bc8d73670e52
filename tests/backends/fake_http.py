"""A small HTTP server whose answers are a script: what each request to a path gets, in order."""

from __future__ import annotations

import socket
import struct
import threading
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson

MODELS = {"data": [{"id": "fake-model", "max_model_len": 4096}]}


@dataclass
class Reply:
    """A reply: its status and body (an object is sent as JSON), or what goes wrong instead.

    `reset` breaks the connection, after the body's bytes if there are any; `short` closes it
    before as many bytes have come as were promised; `hang` waits until the server is closed.
    """

    body: object = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    reset: bool = False
    short: bool = False
    hang: bool = False

    @property
    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else orjson.dumps(self.body)


def chat(text: str, *, finish: str = "stop", prompt: int = 10, answer: int = 3) -> Reply:
    """A chat completion."""
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": prompt, "completion_tokens": answer}
    return Reply({"choices": [{"message": message, "finish_reason": finish}], "usage": usage})


def streamed(*pieces: str, end: bool = True, **broken: bool) -> Reply:
    """A streamed chat completion; without `end` it stops before its finish."""
    events: list[Any] = [{"choices": [{"delta": {"role": "assistant", "content": ""}}]}]
    events += [{"choices": [{"delta": {"content": piece}}]} for piece in pieces]
    lines = [b": ping\n\n", *(b"data: " + orjson.dumps(event) + b"\r\n\r\n" for event in events)]
    if end:
        done = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
        used = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": len(pieces)}}
        lines += [b"data: " + orjson.dumps(event) + b"\n\n" for event in (done, used)]
        lines.append(b"data: [DONE]\n\n")
    headers = {"content-type": "text/event-stream"}
    return Reply(b"".join(lines), headers=headers, **broken)


def error(status: int, message: str, *, kind: str = "", **headers: str) -> Reply:
    """An error as OpenAI and llama-server send it."""
    return Reply({"error": {"message": message, "type": kind}}, status, headers)


class FakeServer:
    """Answers by `script`: path -> replies, of which the last one is given again and again."""

    def __init__(self) -> None:
        self.script: dict[str, deque[Reply]] = defaultdict(deque)
        self.seen: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.authorisations: list[str | None] = []
        self.most_at_once = 0
        self.url = ""
        self._under_way = 0
        self._lock = threading.Lock()
        self.closing = threading.Event()
        self.on("/v1/models", Reply(MODELS))

    def on(self, path: str, *replies: Reply) -> None:
        """Append what requests to the path get from now on."""
        self.script[path] = deque(replies)

    def take(self, path: str, body: bytes, key: str | None) -> Reply:
        with self._lock:
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
            self.authorisations.append(key)
            self.seen[path].append(orjson.loads(body) if body else {})
            replies = self.script[path]
            if not replies:
                return error(404, "there is no such path")
            return replies[0] if len(replies) == 1 else replies.popleft()

    def done(self) -> None:
        with self._lock:
            self._under_way -= 1


@contextmanager
def serving(fake: FakeServer, port: int = 0) -> Iterator[FakeServer]:
    """The server, listening."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments: object) -> None:
            pass

        def do_GET(self) -> None:
            self.answer(b"")

        def do_POST(self) -> None:
            self.answer(self.rfile.read(int(self.headers["content-length"])))

        def answer(self, body: bytes) -> None:
            reply = fake.take(self.path, body, self.headers["authorization"])
            try:
                self.send(reply)
            finally:
                fake.done()

        def send(self, reply: Reply) -> None:
            if reply.hang:
                fake.closing.wait(30)
                self.close_connection = True
                return
            if reply.reset and not reply.content:
                self.reset()
                return
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name.replace("_", "-"), value)
            extra = 10 if reply.reset or reply.short else 0
            self.send_header("content-length", str(len(reply.content) + extra))
            self.end_headers()
            self.wfile.write(reply.content)
            self.close_connection = reply.short
            if reply.reset:
                self.reset()

        def reset(self) -> None:
            """Close with a TCP reset, as a killed process does."""
            self.wfile.flush()
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.connection.close()
            self.close_connection = True

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *arguments: object) -> None:
            pass  # the client's end of a reset connection

    server = Server(("127.0.0.1", port), Handler)
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        fake.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
