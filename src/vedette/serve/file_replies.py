"""Files and batches, as `/openapi.json` describes them; see `replies`."""

from __future__ import annotations

from typing import Any, Literal

from .batch_record import Status
from .file_store import Purpose
from .replies import Reply


class FileReply(Reply):
    """A file."""

    id: str
    object: Literal["file"]
    bytes: int
    created_at: int
    filename: str
    purpose: Purpose
    status: Literal["processed"]
    status_details: None
    expires_at: None


class FileList(Reply):
    """A page of files."""

    object: Literal["list"]
    data: list[FileReply]
    first_id: str | None
    last_id: str | None
    has_more: bool


class FileDeleted(Reply):
    """A file that was deleted."""

    id: str
    object: Literal["file"]
    deleted: Literal[True]


class BatchCounts(Reply):
    """How far a batch is."""

    total: int
    completed: int
    failed: int


class BatchProblem(Reply):
    """What is wrong with a batch as a whole."""

    code: str
    message: str
    line: None
    param: None


class BatchProblems(Reply):
    """All of them."""

    object: Literal["list"]
    data: list[BatchProblem]


class BatchReply(Reply):
    """A batch: times in seconds since 1970, null for what has not happened."""

    id: str
    object: Literal["batch"]
    endpoint: str
    model: str
    errors: BatchProblems | None
    input_file_id: str
    completion_window: str
    status: Status
    output_file_id: str | None
    error_file_id: str | None
    created_at: int
    expires_at: int
    in_progress_at: int | None
    finalizing_at: int | None
    completed_at: int | None
    failed_at: int | None
    cancelling_at: int | None
    cancelled_at: int | None
    expired_at: int | None
    request_counts: BatchCounts
    metadata: dict[str, str] | None


class BatchList(Reply):
    """A page of batches."""

    object: Literal["list"]
    data: list[BatchReply]
    first_id: str | None
    last_id: str | None
    has_more: bool


UPLOAD_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file", "purpose"],
                    "properties": {
                        "file": {"type": "string", "format": "binary"},
                        "purpose": {"const": "batch"},
                    },
                }
            }
        },
    }
}
"""For `openapi_extra`: the form is read as it comes, and FastAPI does not know it."""
