"""What the server is doing, for a person who watches: the latest requests and log lines."""

from __future__ import annotations

import logging
import time
from collections import deque
from dataclasses import asdict, dataclass

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from .desk import Desk

REQUESTS_KEPT = 50
LINES_KEPT = 200
OWN_PATHS = ("/", "/page/", "/v1/activity", "/v1/machine")
"""The page's own requests, which would hide what it is there to show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visited:
    """One request that is over. `at` is in seconds since 1970, `status` None if the client left."""

    id: str
    at: float
    method: str
    path: str
    status: int | None
    ms: float


class Activity:
    """Keeps the last requests, and the last lines of vedette's log. Neither has anybody's text."""

    def __init__(self) -> None:
        self.log = _Lines()
        self._visited: deque[Visited] = deque(maxlen=REQUESTS_KEPT)

    def visited(self, *, id: str, method: str, path: str, status: int | None, seconds: float) -> None:
        """Note a request that is over."""
        if path == "/" or path.startswith(OWN_PATHS[1:]):
            return
        self._visited.appendleft(
            Visited(
                id=id,
                at=time.time() - seconds,
                method=method,
                path=path,
                status=status,
                ms=seconds * 1000,
            )
        )

    @property
    def requests(self) -> list[Visited]:
        """The latest first."""
        return list(self._visited)


class _Lines(logging.Handler):
    """The last lines that were logged."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        self.lines: deque[str] = deque(maxlen=LINES_KEPT)

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler`."""
        if not any(f" GET {path} " in record.getMessage() for path in OWN_PATHS[2:]):
            self.lines.append(self.format(record))


def activity_router(activity: Activity, desk: Desk, most: int) -> APIRouter:
    """The route of the page's live view."""
    router = APIRouter()

    @router.get("/v1/activity")
    async def told() -> JSONResponse:
        """The latest requests and log lines, and how many answers are under way."""
        return JSONResponse(
            {
                "under_way": desk.n_under_way,
                "most": most,
                "requests": [asdict(one) for one in activity.requests],
                "log": list(activity.log.lines),
            }
        )

    return router
