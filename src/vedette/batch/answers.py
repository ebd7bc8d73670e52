"""Items in memory through a task: lazily, in order, without a journal."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import cast

from vedette.backends.base import Backend
from vedette.tasks.base import Task
from vedette.types import Item

from .drive import Driver
from .kept_places import keeping_places
from .results import Outcome
from .study import studied

ITEMS_AHEAD = 8  # at most this many times `workers` answers wait for a slow first one


@dataclass(slots=True, eq=False)
class _Pending:
    """An item of `answers` and, once it is over, its outcome."""

    item: Item
    outcome: Outcome | None = None


def answers(
    items: Iterable[Item], task: Task, backend: Backend, workers: int | None = None
) -> Generator[tuple[Item, Outcome], None, None]:
    """Each item with its answer or its error, lazily and in order.

    Up to `workers` items (None: the backend's width) are under way, and a few times as many
    answers wait when an early item is slow. Closing the generator cancels what is in flight.
    A task that is a `Learner` sees its first items before the first answer comes.
    """
    width = workers or backend.width
    task, source = studied(task, items, backend, width)
    waiting: deque[_Pending] = deque()
    exhausted = False
    with keeping_places(task, backend) as kept, Driver[_Pending](task, kept) as driver:
        while waiting or not exhausted:
            while not exhausted and driver.in_flight < width and len(waiting) < width * ITEMS_AHEAD:
                item = next(source, None)
                if item is None:
                    exhausted = True
                    break
                waiting.append(_Pending(item))
                driver.start(waiting[-1], item)
            if driver.in_flight:
                for pending, outcome in driver.wait():
                    pending.outcome = outcome
            while waiting and waiting[0].outcome is not None:
                pending = waiting.popleft()
                yield pending.item, cast(Outcome, pending.outcome)
