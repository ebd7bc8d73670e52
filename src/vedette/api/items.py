"""A task over items in memory, or over one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, cast

from vedette.batch.answers import answers
from vedette.errors import VedetteError
from vedette.tasks.base import Task
from vedette.tasks.gate import gate_of
from vedette.types import Answer, Item, Json

from .shared import Answerer, backend_of, tiers_of


def map(
    items: Iterable[str | Item],
    task: Task,
    *,
    model: str | None = None,
    backend: Answerer | None = None,
    escalate_to: Answerer | None = None,
    workers: int | None = None,
) -> Iterator[Answer | VedetteError]:
    """Answers of a task over many items, lazily and in order; a failed item yields its error.

    `backend`: see `extract`. `escalate_to` is the backend of a larger model, for a task with
    thresholds: it answers what is not kept (nothing is audited here). Closing the iterator cancels
    what is under way.
    """
    if escalate_to is not None:
        task = gate_of(task, audit=0.0)
        found = answers(_items(items), task, tiers_of(model, backend, escalate_to), workers)
    else:
        found = answers(_items(items), task, backend_of(model, backend), workers)
    try:
        for _, outcome in found:
            yield outcome
    finally:
        found.close()


async def amap(
    items: Iterable[str | Item],
    task: Task,
    *,
    model: str | None = None,
    backend: Answerer | None = None,
    escalate_to: Answerer | None = None,
    workers: int | None = None,
) -> AsyncIterator[Answer | VedetteError]:
    """`map` for asyncio."""
    found = map(items, task, model=model, backend=backend, escalate_to=escalate_to, workers=workers)
    end = object()
    step: asyncio.Future[object] | None = None
    try:
        while True:
            step = asyncio.ensure_future(asyncio.to_thread(next, found, end))
            if (outcome := await asyncio.shield(step)) is end:
                return
            yield cast("Answer | VedetteError", outcome)
    finally:
        if step is not None:  # a generator that is at work in its thread cannot be closed
            await asyncio.wait([step])
        await asyncio.to_thread(cast(Any, found).close)


def one(
    task: Task,
    item: str | Item,
    model: str | None,
    backend: Answerer | None,
    escalate_to: Answerer | None = None,
) -> Json:
    """The value for one item. Raises the `VedetteError` that says why there is none."""
    found = map([item], task, model=model, backend=backend, escalate_to=escalate_to)
    outcome = next(iter(found))
    if isinstance(outcome, VedetteError):
        raise outcome
    return outcome.value


def _items(items: Iterable[str | Item]) -> Iterator[Item]:
    for number, item in enumerate(items, start=1):
        yield item if isinstance(item, Item) else Item(id=str(number), text=item)
