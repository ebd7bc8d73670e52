"""What a task is: a plan of requests for one item, and what their results mean."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Protocol, TypeAlias

from vedette.backends.base import Backend, Result
from vedette.types import Answer, Item, Json, Request, ScoreRequest

Ask: TypeAlias = Request | ScoreRequest
Steps: TypeAlias = Generator[Sequence[Ask], Sequence[Result], Answer]


class Task(Protocol):
    """Something done to every item of a job. Stateless between items."""

    @property
    def name(self) -> str:
        """The verb, as on the command line."""
        ...

    @property
    def identity(self) -> dict[str, Json]:
        """All that its answers depend on besides item and model: prompt, schema, parameters."""
        ...

    def steps(self, item: Item, backend: Backend) -> Steps:
        """Yield requests to be run side by side, receive their results in order, return the answer.

        Does no I/O itself, so that any runner can drive it: one item at a time, thousands at
        once, or asyncio. Raises `InputError` for an item that cannot be done; a failed request's
        error is thrown into the generator.
        """
        ...
