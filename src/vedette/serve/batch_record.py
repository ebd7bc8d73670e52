"""A batch: what was asked for, how far it is, and where its results are."""

from __future__ import annotations

import re
import secrets
import time
from dataclasses import dataclass, field, replace
from typing import Literal, Self, TypeAlias

from vedette.errors import InputError
from vedette.types import Json

from .file_store import new_id

Status: TypeAlias = Literal[
    "validating",
    "in_progress",
    "finalizing",
    "completed",
    "failed",
    "cancelling",
    "cancelled",
    "expired",
]
OVER: tuple[Status, ...] = ("completed", "failed", "cancelled", "expired")
TIMES: dict[Status, str] = {
    "in_progress": "in_progress_at",
    "finalizing": "finalizing_at",
    "completed": "completed_at",
    "failed": "failed_at",
    "cancelling": "cancelling_at",
    "cancelled": "cancelled_at",
    "expired": "expired_at",
}
_WINDOW = re.compile(r"([1-9][0-9]{0,4})([mhd])")
_UNIT_S = {"m": 60, "h": 3600, "d": 86400}
MOST_WINDOW_S = 30 * 86400


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One batch. `times` are those at which it came to a status, in seconds since 1970.

    `identity` is the model that answers it, and no other may: unfinished, it waits for a server
    with the same. `output_id` and `error_id` are the ids that its results will have, chosen
    before there are any, so that a batch whose end is interrupted writes them once more and not
    twice.
    """

    id: str = field(default_factory=lambda: f"batch_{secrets.token_hex(16)}")
    endpoint: str
    input_file_id: str
    completion_window: str
    created_at: float = field(default_factory=time.time)
    model: str
    identity: dict[str, Json]
    metadata: dict[str, str] | None
    status: Status = "validating"
    times: dict[str, int] = field(default_factory=dict)
    total: int = 0
    completed: int = 0
    failed: int = 0
    output_id: str = field(default_factory=new_id)
    error_id: str = field(default_factory=new_id)
    problem: dict[str, Json] | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing will change any more."""
        return self.status in OVER

    @property
    def expires_at(self) -> float:
        """When what has no answer yet will get none."""
        return self.created_at + window_s(self.completion_window)

    def at(self, status: Status) -> Self:
        """The same with another status."""
        return replace(self, status=status, times=self.times | {TIMES[status]: int(time.time())})

    def as_dict(self) -> dict[str, Json]:
        """As OpenAI's batch object."""
        has_results = self.is_over and self.status != "failed"
        problems: dict[str, Json] = {"object": "list", "data": [self.problem]}
        return {
            "id": self.id,
            "object": "batch",
            "endpoint": self.endpoint,
            "model": self.model,
            "errors": problems if self.problem else None,
            "input_file_id": self.input_file_id,
            "completion_window": self.completion_window,
            "status": self.status,
            "output_file_id": self.output_id if has_results and self.completed else None,
            "error_file_id": self.error_id if has_results and self.failed else None,
            "created_at": int(self.created_at),
            "expires_at": int(self.expires_at),
            **{name: self.times.get(name) for name in TIMES.values()},
            "request_counts": {
                "total": self.total,
                "completed": self.completed,
                "failed": self.failed,
            },
            "metadata": dict(self.metadata) if self.metadata is not None else None,
        }


def window_s(window: str) -> int:
    """The seconds of a window such as 24h. Raises `InputError`."""
    found = _WINDOW.fullmatch(window)
    seconds = int(found[1]) * _UNIT_S[found[2]] if found else 0
    if not 0 < seconds <= MOST_WINDOW_S:
        raise InputError(
            f"completion_window: it should be minutes, hours or days, at most 30 days, such as "
            f"24h, not {window!r}"
        )
    return seconds
