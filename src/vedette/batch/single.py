"""One item, right now."""

from __future__ import annotations

from vedette.backends.base import Backend
from vedette.errors import VedetteError
from vedette.tasks.base import Task
from vedette.types import Answer, Item

from .drive import Driver
from .kept_places import keeping_places


def answer_item(task: Task, item: Item, backend: Backend) -> Answer:
    """Drive one item to its answer. Raises the `VedetteError` that says why there is none."""
    with keeping_places(task, backend) as kept, Driver[str](task, kept) as driver:
        driver.start(item.id, item)
        over = driver.take()
        while not over:
            over = driver.wait()
    ((_, outcome),) = over
    if isinstance(outcome, VedetteError):
        raise outcome
    return outcome
