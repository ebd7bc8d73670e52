"""Backends on the same tiny model: in process, behind a real llama-server, behind its /v1."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import stamina
from fake_http import FakeServer, serving
from tiny_server import OPTIONS

from vedette.backends.base import Backend
from vedette.backends.find_server import find_server
from vedette.backends.llama_server import LlamaServerBackend
from vedette.backends.local import LocalBackend
from vedette.backends.openai_http import OpenAIBackend
from vedette.backends.server_process import ServerProcess
from vedette.engine.options import EngineOptions
from vedette.errors import EngineFailed, FileError

KINDS = ("local", "llama-server", "openai")


@pytest.fixture(scope="session")
def program():
    """A llama-server that runs on this machine."""
    try:
        return find_server()
    except FileError as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def tiny_server(program, tiny_full) -> Iterator[ServerProcess]:
    with ExitStack() as stack:
        try:
            server = stack.enter_context(ServerProcess(program, tiny_full, OPTIONS))
        except EngineFailed as reason:
            if "SIGILL" in reason.message:
                pytest.skip(str(reason))
            raise
        yield server


@pytest.fixture(scope="session")
def tiny_backends() -> Iterator[dict[str, Backend]]:
    """Opened when asked for by `backend_of`, closed at the end."""
    opened: dict[str, Backend] = {}
    yield opened
    for backend in opened.values():
        backend.close()


def opened(kind: str, request) -> Backend:
    """The backend of this kind on the tiny model."""
    backends = request.getfixturevalue("tiny_backends")
    if kind not in backends:
        if kind == "local":
            tiny = request.getfixturevalue("tiny_full")
            backends[kind] = LocalBackend(tiny, EngineOptions(threads=1, width=4))
        elif kind == "llama-server":
            url = request.getfixturevalue("tiny_server").url
            backends[kind] = LlamaServerBackend(url, width=4)
        else:
            url = request.getfixturevalue("tiny_server").url
            backends[kind] = OpenAIBackend(f"{url}/v1", width=4)
    return backends[kind]


@pytest.fixture(params=KINDS)
def backend(request) -> Backend:
    """Each kind in turn; the test's id names it."""
    return opened(request.param, request)


@pytest.fixture
def local(request) -> Backend:
    return opened("local", request)


@pytest.fixture
def served(request) -> Backend:
    return opened("llama-server", request)


@pytest.fixture
def fake() -> Iterator[FakeServer]:
    """A scripted server; see `fake_http`."""
    with serving(FakeServer()) as server:
        yield server


@pytest.fixture
def no_waits() -> Iterator[None]:
    """Tries follow each other at once."""
    with stamina.set_testing(True, attempts=10, cap=True):
        yield
