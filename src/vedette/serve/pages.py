"""Lists that are given page by page, as OpenAI's clients ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

from vedette.types import Json

from .problems import Refusal


class Listed(Protocol):
    """What can be in a list."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    def as_dict(self) -> dict[str, Json]:
        """As it is shown."""
        ...


class Query(BaseModel):
    """Query parameters, of which every one counts: an unknown one is refused."""

    model_config = ConfigDict(extra="forbid")


T = TypeVar("T", bound=Listed)


def page(entries: Sequence[T], after: str | None, limit: int) -> dict[str, Json]:
    """The entries that follow `after`, at most `limit`. Raises `Refusal` for one not there."""
    start = 0
    if after is not None:
        ids = [entry.id for entry in entries]
        if after not in ids:
            raise Refusal(f"after: there is no {after!r} in the list", param="after")
        start = ids.index(after) + 1
    shown = entries[start : start + limit]
    return {
        "object": "list",
        "data": [entry.as_dict() for entry in shown],
        "first_id": shown[0].id if shown else None,
        "last_id": shown[-1].id if shown else None,
        "has_more": len(entries) > start + limit,
    }
