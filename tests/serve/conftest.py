"""One tiny model in process, and servers over it."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest
from openai import OpenAI
from served import served

from vedette.backends.local import LocalBackend
from vedette.engine.options import EngineOptions
from vedette.serve.app import create_app
from vedette.serve.file_store import FileStore
from vedette.serve.options import ServeOptions


@pytest.fixture(scope="session", autouse=True)
def _data_of_nobody(tmp_path_factory) -> Iterator[None]:
    """Servers that are told no folder keep their files in one of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(scope="session")
def tiny_backend(tiny_full) -> Iterator[LocalBackend]:
    backend = LocalBackend(tiny_full, EngineOptions(threads=1, width=4))
    yield backend
    backend.close()


@pytest.fixture(scope="session")
def url(tiny_backend, tmp_path_factory) -> Iterator[str]:
    options = ServeOptions(model="tiny", max_tokens=12)
    with (
        FileStore(tmp_path_factory.mktemp("served")) as files,
        served(create_app(tiny_backend, options, files)) as address,
    ):
        yield address


@pytest.fixture
def http(url) -> Iterator[httpx2.Client]:
    """Plain HTTP, for what no library would send."""
    with httpx2.Client(base_url=url, timeout=30) as client:
        yield client


@pytest.fixture
def client(url) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as opened:
        yield opened
