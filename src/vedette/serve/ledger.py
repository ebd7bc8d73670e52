"""`GET /v1/ledger`: what the gateway's requests took, for pages and programs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import APIRouter, FastAPI, Query
from fastapi.responses import JSONResponse

from vedette.gateway.gateway import Gateway
from vedette.gateway.report import since_s, whole

from .replies import Reply

LAST_ROWS, MOST_ROWS = 50, 1000


class SumsReply(Reply):
    """Requests of one route and tier, or of all."""

    route: str
    tier: str
    requests: int
    unanswered: int
    cached: int
    prompt_tokens: int
    completion_tokens: int
    cost: float
    saved: float
    mean_ms: float


class RowReply(Reply):
    """One request; `at_s` is in seconds since 1970."""

    id: int
    at_s: float
    route: str
    tier: str
    model: str
    reason: str
    guard: str
    cache: str
    prompt_tokens: int
    completion_tokens: int
    estimated: bool
    hidden: int
    cut_tokens: int
    cost: float
    saved: float
    ms: float
    outcome: str


class LedgerReply(Reply):
    """Requests added up, and the latest of them; `lost` counts rows that could not be completed."""

    object: Literal["ledger"]
    since: str | None
    total: SumsReply
    routes: list[SumsReply]
    requests: list[RowReply]
    lost: int


def ledger_router(gateway: Gateway) -> APIRouter:
    """The route. The gateway is closed at the end of the app that has it."""

    @asynccontextmanager
    async def closing(_: FastAPI) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await gateway.close()

    router = APIRouter(lifespan=closing)

    @router.get("/v1/ledger", response_model=LedgerReply)
    async def ledger(
        since: str = "", limit: Annotated[int, Query(ge=0, le=MOST_ROWS)] = LAST_ROWS
    ) -> JSONResponse:
        """Requests since a time (24h, 7d, a date), added up by route and tier, and the latest."""
        begin_s = since_s(since)
        sums = await asyncio.to_thread(gateway.ledger.sums, begin_s)
        rows = await asyncio.to_thread(gateway.ledger.last, limit, begin_s)
        return JSONResponse(
            {
                "object": "ledger",
                "since": since or None,
                "total": asdict(whole(sums)),
                "routes": [asdict(one) for one in sums],
                "requests": rows,
                "lost": gateway.ledger.lost,
            }
        )

    return router
