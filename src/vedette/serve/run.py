"""A server process: the socket, uvicorn, and an orderly end."""

from __future__ import annotations

import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette

from vedette.errors import InputError

from .wire import Connection

KEEP_ALIVE_S = 65
"""Longer than clients keep a connection, so that none is closed under a request that just came."""
DRAIN_S = 30
"""How long answers under way may take once the end is asked for."""


def bind(host: str, port: int) -> socket.socket:
    """Take the address, so that a mistake shows before a model is loaded; 0 is any free port.

    Nobody is let in yet. Raises `InputError` where that cannot be.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        taken = socket.socket(family, kind, protocol)
    except OSError as error:
        raise InputError(f"cannot listen on {host}: {error.strerror}") from error
    try:
        if sys.platform != "win32":
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(address)
    except OSError as error:
        taken.close()
        raise InputError(
            f"cannot listen on {host}:{port}: {error.strerror}", hint="choose another --port"
        ) from error
    return taken


def url_of(taken: socket.socket) -> str:
    """Where clients find a server on this socket."""
    host, port = taken.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run_app(
    app: Starlette,
    taken: socket.socket,
    *,
    ready: Callable[[], None],
    drain_s: int = DRAIN_S,
) -> None:
    """Serve until SIGTERM or SIGINT; then let nobody in and finish what is under way.

    `ready` is called once clients are let in. After `drain_s`, or at a second SIGINT, what still
    runs is broken off.
    """
    _Server(config_of(app, drain_s=drain_s), ready).run(sockets=[taken])


def config_of(app: Starlette, *, drain_s: int) -> uvicorn.Config:
    """How uvicorn runs it."""
    return uvicorn.Config(
        app,
        http=Connection,
        log_config=None,
        log_level=logging.WARNING,  # below, it writes down what clients send in the query
        access_log=False,  # the door writes its own lines
        server_header=False,
        proxy_headers=False,  # nothing here depends on where a client is
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=drain_s,
        lifespan="on",
    )


class _Server(uvicorn.Server):
    """Ends as asked, and does not raise the signal again: the caller has things to close."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's."""
        await super().startup(sockets)
        self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """While this is open, SIGTERM and SIGINT end the server."""
        before = {
            sig: signal.signal(sig, self.handle_exit) for sig in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            yield
        finally:
            for sig, handler in before.items():
                signal.signal(sig, handler)
