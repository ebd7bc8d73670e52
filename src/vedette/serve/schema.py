"""`POST /v1/schema`: what becomes of each keyword of a JSON Schema."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import Field

from vedette.engine.constraint.json_schema import schema_report
from vedette.engine.constraint.schema import SchemaRefused

from .body import Body
from .replies import Reply

Verdict = Literal["enforced", "narrowed", "checked", "refused"]


class SchemaBody(Body):
    """A JSON Schema."""

    schema_: dict[str, Any] = Field(alias="schema")


class KeywordReply(Reply):
    """One keyword at one place; see `vedette schema check`."""

    pointer: str
    keyword: str
    verdict: Verdict
    reason: str


class UnknownReply(Reply):
    """A keyword without effect."""

    pointer: str
    keyword: str
    reason: str


class SchemaReply(Reply):
    """Every keyword, how many of each verdict, and where answers are kept shorter."""

    draft: str
    counts: dict[Verdict, int]
    keywords: list[KeywordReply]
    unknown: list[UnknownReply]
    bounds: list[str]


def schema_router() -> APIRouter:
    """The route."""
    router = APIRouter()

    @router.post("/v1/schema", response_model=SchemaReply)
    async def report(body: SchemaBody) -> JSONResponse:
        """Which keywords are enforced, narrowed, checked on the answer, or refused, and why."""
        return JSONResponse(await asyncio.to_thread(_reported, body.schema_))

    return router


def _reported(schema: dict[str, Any]) -> dict[str, object]:
    """The report; one of a schema that is refused too. Raises `SchemaError` for what is none."""
    try:
        return schema_report(schema).as_dict()
    except SchemaRefused as refused:
        return refused.report.as_dict()
