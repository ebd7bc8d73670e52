"""Which tasks can stand before a gate."""

from __future__ import annotations

from vedette.errors import InputError
from vedette.tasks.base import Task
from vedette.tasks.classify import Classify
from vedette.tasks.decide import Decide
from vedette.tasks.nearest.task import Nearest

from .classify import GatedClassify
from .decide import GatedDecide
from .nearest import PlacedGate
from .price import Price
from .task import AUDIT_SHARE, Gate


def gate_of(task: Task, *, audit: float = AUDIT_SHARE, price: Price | None = None) -> Gate:
    """The task behind a gate.

    Raises `InputError` for one without thresholds, or of a kind that has none.
    """
    if isinstance(task, Nearest):
        return PlacedGate(GatedClassify(task), audit, price)
    if isinstance(task, Classify):
        return Gate(GatedClassify(task), audit, price)
    if isinstance(task, Decide):
        return Gate(GatedDecide(task), audit, price)
    raise InputError(f"{task.name} cannot be escalated", hint="classify and decide can")
