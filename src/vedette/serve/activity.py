"""What the server is doing, for a person who watches: the latest requests and log lines."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from .facts import Facts
from .replies import Reply

REQUESTS_KEPT = 50
LINES_KEPT = 200
WATCHING = ("/v1/activity", "/v1/machine", "/v1/ledger")
"""What an open page asks every second or so, which would hide what it is there to show."""

_LOG = "vedette.serve"


class Visited(Reply):
    """One request that is over. `at` is in seconds since 1970, `status` null if the client left."""

    id: str
    at: float
    method: str
    path: str
    status: int | None
    ms: float


class ActivityReply(Reply):
    """The latest requests first, the log's last lines, and how many answers are under way."""

    model: str
    under_way: int
    most: int
    requests: list[Visited]
    log: list[str]


def is_watching(path: str) -> bool:
    """Whether a request comes of a page that looks on."""
    return path in WATCHING or path.startswith("/page/")


class Activity:
    """Keeps the last requests. Nothing that a client wrote is in it but the paths."""

    def __init__(self) -> None:
        self._visited: deque[Visited] = deque(maxlen=REQUESTS_KEPT)

    def visited(
        self, *, id: str, method: str, path: str, status: int | None, seconds: float
    ) -> None:
        """Note a request that is over."""
        if is_watching(path):
            return
        at, ms = time.time() - seconds, seconds * 1000
        self._visited.appendleft(
            Visited(id=id, at=at, method=method, path=path, status=status, ms=ms)
        )

    @property
    def requests(self) -> list[Visited]:
        """The latest first."""
        return list(self._visited)


class _Lines(logging.Handler):
    """The last lines that were logged."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        self.lines: deque[str] = deque(maxlen=LINES_KEPT)

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler`."""
        self.lines.append(self.format(record))


def activity_router(activity: Activity, facts: Facts) -> APIRouter:
    """The route of the page's live view; while it is served, the server's log is kept for it."""
    log = _Lines()

    @asynccontextmanager
    async def listening(_: object) -> AsyncIterator[None]:
        logger = logging.getLogger(_LOG)
        logger.addHandler(log)
        try:
            yield
        finally:
            logger.removeHandler(log)

    router = APIRouter(lifespan=listening)

    @router.get("/v1/activity", response_model=ActivityReply)
    async def told() -> JSONResponse:
        """The latest requests and log lines, and how many answers are under way."""
        reply = ActivityReply(
            model=facts.model,
            under_way=facts.desk.n_under_way,
            most=facts.options.max_requests,
            requests=activity.requests,
            log=list(log.lines),
        )
        return JSONResponse(reply.model_dump())

    return router
