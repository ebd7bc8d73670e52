"""`/v1/files`: what batches read and write."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter
from fastapi import Query as InQuery
from fastapi import Request as HttpRequest
from fastapi.responses import FileResponse, Response
from pydantic import Field

from vedette.types import Json

from .file_store import FileStore
from .pages import Query, page
from .problems import AsciiJson
from .upload import received

MOST_LISTED = 10_000


class FileQuery(Query):
    """Which files are listed."""

    after: str | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_LISTED)] = MOST_LISTED
    order: Literal["asc", "desc"] = "desc"
    purpose: str | None = None


def file_router(store: FileStore) -> APIRouter:
    """The routes, over a server's files."""
    router = APIRouter(prefix="/v1/files")

    @router.post("")
    async def create(http: HttpRequest) -> Response:
        return AsciiJson((await received(http, store)).as_dict())

    @router.get("")
    async def files(query: Annotated[FileQuery, InQuery()]) -> Response:
        entries = [file for file in store.all() if query.purpose in (None, file.purpose)]
        if query.order == "desc":
            entries.reverse()
        return AsciiJson(page(entries, query.after, query.limit))

    @router.get("/{file_id}")
    async def file(file_id: str) -> Response:
        return AsciiJson(store.get(file_id).as_dict())

    @router.get("/{file_id}/content")
    async def content(file_id: str) -> Response:
        found = store.get(file_id)
        return FileResponse(
            store.path(found), media_type="application/octet-stream", filename=found.filename
        )

    @router.delete("/{file_id}")
    async def delete(file_id: str) -> Response:
        store.delete(file_id)
        gone: dict[str, Json] = {"id": file_id, "object": "file", "deleted": True}
        return AsciiJson(gone)

    return router
