"""`POST /v1/schema`: what becomes of each keyword of a JSON Schema."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import Field

from vedette.engine.constraint.json_schema import schema_report
from vedette.engine.constraint.schema import SchemaRefused

from .fields import Body


class SchemaBody(Body):
    """A JSON Schema."""

    schema_: Any = Field(alias="schema")


def schema_router() -> APIRouter:
    """The route."""
    router = APIRouter()

    @router.post("/v1/schema")
    async def report(body: SchemaBody) -> JSONResponse:
        """Which keywords are enforced, narrowed, checked on the answer, or refused, and why."""
        return JSONResponse(await asyncio.to_thread(_reported, body.schema_))

    return router


def _reported(schema: Any) -> dict[str, object]:
    """The report, one of a schema that is refused too. Raises `SchemaError` for what is none."""
    try:
        return schema_report(schema).as_dict()
    except SchemaRefused as refused:
        return refused.report.as_dict()
