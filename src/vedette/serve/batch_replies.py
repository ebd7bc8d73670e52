"""What the routes of files and batches answer with, for `/openapi.json`."""

from __future__ import annotations

from typing import Literal

from .replies import Reply


class FileReply(Reply):
    """A file."""

    id: str
    object: Literal["file"]
    bytes: int
    created_at: int
    filename: str
    purpose: Literal["batch", "batch_output"]
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


class FileGone(Reply):
    """A file that was deleted."""

    id: str
    object: Literal["file"]
    deleted: Literal[True]


class BatchProblem(Reply):
    """Why a batch has failed as a whole."""

    code: str
    message: str
    line: int | None
    param: str | None


class BatchProblems(Reply):
    """All that is wrong with it."""

    object: Literal["list"]
    data: list[BatchProblem]


class LineCounts(Reply):
    """Lines of a batch: all, those answered, and those that ended in an error."""

    total: int
    completed: int
    failed: int


class BatchReply(Reply):
    """A batch. Times are in seconds since 1970."""

    id: str
    object: Literal["batch"]
    endpoint: str
    model: str
    errors: BatchProblems | None
    input_file_id: str
    completion_window: str
    status: Literal[
        "validating",
        "in_progress",
        "finalizing",
        "completed",
        "failed",
        "cancelling",
        "cancelled",
        "expired",
    ]
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
    request_counts: LineCounts
    metadata: dict[str, str] | None


class BatchList(Reply):
    """A page of batches."""

    object: Literal["list"]
    data: list[BatchReply]
    first_id: str | None
    last_id: str | None
    has_more: bool
