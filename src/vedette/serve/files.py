"""`/v1/files`: what batches read and write."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from fastapi import Query as InQuery
from fastapi import Request as HttpRequest
from fastapi.responses import FileResponse, Response
from pydantic import Field

from vedette.types import Json

from .batch_replies import FileGone, FileList, FileReply
from .file_store import FileStore
from .pages import Query, page
from .problems import AsciiJson
from .upload import received

MOST_LISTED = 10_000
KIND = "application/octet-stream"
FORM = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "file": {"contentMediaType": KIND},
                        "purpose": {"const": "batch"},
                    },
                    "required": ["file", "purpose"],
                    "additionalProperties": False,
                }
            }
        },
    }
}
BYTES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file.",
        "content": {KIND: {"schema": {"contentMediaType": KIND}}},
    }
}


class FileQuery(Query):
    """Which files are listed."""

    after: str | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_LISTED)] = MOST_LISTED
    order: Literal["asc", "desc"] = "desc"
    purpose: str | None = None


def file_router(store: FileStore) -> APIRouter:
    """The routes, over a server's files."""
    router = APIRouter(prefix="/v1/files")

    @router.post("", response_model=FileReply, openapi_extra=FORM)
    async def create(http: HttpRequest) -> Response:
        """Keep a file of requests."""
        return AsciiJson((await received(http, store)).as_dict())

    @router.get("", response_model=FileList)
    async def files(query: Annotated[FileQuery, InQuery()]) -> Response:
        """All files, those sent and those of results."""
        entries = [file for file in store.all() if query.purpose in (None, file.purpose)]
        if query.order == "desc":
            entries.reverse()
        return AsciiJson(page(entries, query.after, query.limit))

    @router.get("/{file_id}", response_model=FileReply)
    async def file(file_id: str) -> Response:
        """What is known of a file."""
        return AsciiJson(store.get(file_id).as_dict())

    @router.get("/{file_id}/content", response_class=FileResponse, responses=BYTES)
    async def content(file_id: str) -> Response:
        """The bytes of a file."""
        found = store.get(file_id)
        return FileResponse(store.path(found), media_type=KIND, filename=found.filename)

    @router.delete("/{file_id}", response_model=FileGone)
    async def delete(file_id: str) -> Response:
        """Remove a file, unless a batch still reads it."""
        store.delete(file_id)
        gone: dict[str, Json] = {"id": file_id, "object": "file", "deleted": True}
        return AsciiJson(gone)

    return router
