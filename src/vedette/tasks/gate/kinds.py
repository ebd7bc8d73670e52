"""Which tasks can stand before a gate."""

from __future__ import annotations

from vedette.errors import InputError
from vedette.tasks.base import Task
from vedette.tasks.classify import Classify
from vedette.tasks.nearest.task import Nearest

from .classify import GatedClassify
from .subject import Subject


def gated_subject(task: Task) -> Subject:
    """The task, as a gate needs it. Raises `InputError` for one without thresholds, or of a kind
    that has none."""
    if isinstance(task, Classify):
        return GatedClassify(task)
    if isinstance(task, Nearest):
        raise InputError(
            "labels by the nearest examples cannot be escalated yet",
            hint="score them, with --method score",
        )
    raise InputError(f"{task.name} cannot be escalated", hint="classify can")
