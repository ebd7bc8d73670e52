"""A header over HTTP: only its bytes are fetched; whatever is not a part of a file is an error."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from vedette.errors import ModelCorrupt, ModelNotFound
from vedette.models.gguf_header import read_header
from vedette.models.remote_file import RangeFile, remote_header


class Served:
    """A web server with one file; `ranges` are the parts that were asked for."""

    def __init__(self) -> None:
        self.content = b""
        self.status: int | None = None
        self.whole_only = False
        self.ranges: list[str | None] = []
        self.tokens: list[str | None] = []
        self.url = ""


@contextmanager
def serve() -> Iterator[Served]:
    served = Served()

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            served.ranges.append(asked)
            served.tokens.append(self.headers.get("Authorization"))
            if served.status is not None:
                self._send(served.status, b"", None)
            elif served.whole_only or asked is None:
                self._send(200, served.content, None)
            else:
                first, _, last = asked.removeprefix("bytes=").partition("-")
                part = served.content[int(first) : int(last) + 1]
                end = int(first) + len(part) - 1
                self._send(206, part, f"bytes {first}-{end}/{len(served.content)}")

        def _send(self, status: int, body: bytes, content_range: str | None) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            if content_range:
                self.send_header("Content-Range", content_range)
            self.end_headers()
            self.wfile.write(body)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    served.url = f"http://127.0.0.1:{server.server_port}/model.gguf"
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def served(tiny_full: Path) -> Iterator[Served]:
    with serve() as server:
        server.content = tiny_full.read_bytes()
        yield server


def test_a_remote_header_is_the_file_s_own(served: Served, tiny_full: Path):
    assert remote_header(served.url) == read_header(tiny_full)


def test_little_more_than_the_header_is_fetched(served: Served):
    served.content += b"\0" * (20 << 20)
    header = remote_header(served.url)
    fetched = 0
    for asked in served.ranges:
        assert asked is not None
        first, _, last = asked.removeprefix("bytes=").partition("-")
        fetched += int(last) - int(first) + 1
    assert header.size_bytes == len(served.content)
    assert fetched < 4 << 20


def test_a_token_is_never_sent_to_another_address(served: Served, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    remote_header(served.url)
    assert set(served.tokens) == {None}


def test_any_part_can_be_read(served: Served):
    file = RangeFile(served.url)
    assert file.seek(0, 2) == len(served.content)
    assert file.read(1) == b""
    file.seek(100)
    assert file.read(50) == served.content[100:150]
    assert file.tell() == 150


def test_a_server_that_sends_whole_files_is_not_read(served: Served):
    served.whole_only = True
    with pytest.raises(ModelNotFound, match="whole files only"):
        remote_header(served.url)


def test_a_refusal_is_told(served: Served):
    served.status = 403
    with pytest.raises(ModelNotFound, match="the server answered 403"):
        remote_header(served.url)


def test_what_is_no_gguf_is_corrupt(served: Served):
    served.content = b"<!doctype html>" * 100
    with pytest.raises(ModelCorrupt, match="not a sound GGUF"):
        remote_header(served.url)


def test_nobody_there_and_offline(monkeypatch):
    with pytest.raises(ModelNotFound, match="cannot be reached"):
        remote_header("http://127.0.0.1:9/model.gguf")
    monkeypatch.setenv("VEDETTE_OFFLINE", "true")
    with pytest.raises(ModelNotFound, match="offline"):
        remote_header("http://127.0.0.1:9/model.gguf")
