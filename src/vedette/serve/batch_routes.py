"""`/v1/batches`: files of requests, answered when there is time."""

from __future__ import annotations

from typing import Annotated, ClassVar

from fastapi import APIRouter
from fastapi import Query as InQuery
from fastapi import Request as HttpRequest
from fastapi.responses import Response
from pydantic import Field

from vedette.errors import CapabilityMissing

from .batch_record import window_s
from .batch_replies import BatchList, BatchReply
from .batches import Batches
from .fields import Body
from .guard import Guard
from .pages import Query, page
from .problems import AsciiJson

MOST_LISTED = 100
METHODS = ["GET", "POST", "DELETE"]

Name = Annotated[str, Field(max_length=64)]
Value = Annotated[str, Field(max_length=512)]


class BatchBody(Body):
    """The body that makes a batch."""

    input_file_id: str
    endpoint: str
    completion_window: str = "24h"
    metadata: Annotated[dict[Name, Value] | None, Field(max_length=16)] = None
    refused: ClassVar = {"output_expires_after": ((), "files stay until they are deleted")}


class BatchQuery(Query):
    """Which batches are listed."""

    after: str | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_LISTED)] = 20


def batch_router(batches: Batches, guard: Guard) -> APIRouter:
    """The routes, over a server's batches, which are worked on while the app runs.

    What a key may not ask itself, it may not ask by a batch.
    """
    router = APIRouter(prefix="/v1/batches", lifespan=batches.running)

    @router.post("", response_model=BatchReply)
    async def create(body: BatchBody, http: HttpRequest) -> Response:
        """Have the lines of a file answered while live requests leave room for them."""
        window_s(body.completion_window)
        guard.check_scope(body.endpoint, http.headers)
        batch = await batches.create(
            endpoint=body.endpoint,
            input_file_id=body.input_file_id,
            window=body.completion_window,
            metadata=body.metadata,
        )
        return AsciiJson(batch.as_dict())

    @router.get("", response_model=BatchList)
    async def listed(query: Annotated[BatchQuery, InQuery()]) -> Response:
        """All batches, the newest first."""
        return AsciiJson(page(batches.all()[::-1], query.after, query.limit))

    @router.get("/{batch_id}", response_model=BatchReply)
    async def batch(batch_id: str) -> Response:
        """A batch, and how far it is."""
        return AsciiJson(batches.get(batch_id).as_dict())

    @router.post("/{batch_id}/cancel", response_model=BatchReply)
    async def cancel(batch_id: str) -> Response:
        """End a batch early; what was answered is kept."""
        return AsciiJson((await batches.cancel(batch_id)).as_dict())

    return router


def no_files_router() -> APIRouter:
    """In place of files and batches, for a server that has no folder."""
    router = APIRouter(include_in_schema=False)

    @router.api_route("/v1/files", methods=METHODS)
    @router.api_route("/v1/files/{rest:path}", methods=METHODS)
    @router.api_route("/v1/batches", methods=METHODS)
    @router.api_route("/v1/batches/{rest:path}", methods=METHODS)
    async def refuse() -> None:
        raise CapabilityMissing("this server keeps no files", hint="start it with --files-dir")

    return router
