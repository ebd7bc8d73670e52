"""A real server on a free port, in a thread of the tests."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from vedette.serve.run import bind, config_of, url_of

WAIT_S = 30


@contextmanager
def served(app: FastAPI) -> Iterator[str]:
    """The server's URL, while it runs."""
    taken = bind("127.0.0.1", 0)
    server = uvicorn.Server(config_of(app, drain_s=1))
    thread = threading.Thread(target=server.run, args=([taken],))
    thread.start()
    wait_until(lambda: server.started)
    try:
        yield url_of(taken)
    finally:
        server.should_exit = True
        thread.join(WAIT_S)
        taken.close()


def wait_until(holds) -> None:
    """Wait for what another thread brings about; a failure says that it never came."""
    give_up = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < give_up, "waited in vain"
        time.sleep(0.005)
