"""Vedette's side of a measurement: the engine in this process, driven as a job drives it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vedette.backends.local import LocalBackend
from vedette.batch import answers
from vedette.engine.options import EngineOptions
from vedette.errors import VedetteError
from vedette.tasks.base import Task
from vedette.types import Answer, Item

from .questions import warmup_items
from .runs import Reply, Run, run_of
from .stopwatch import Stopwatch

NAME = "vedette"


@dataclass(frozen=True, slots=True, kw_only=True)
class InProcess:
    """How the engine is started. It is loaded for each run and closed after it."""

    model: str
    options: EngineOptions

    def open(self) -> LocalBackend:
        """A backend of its own; the caller closes it."""
        return LocalBackend(self.model, self.options)

    def run(self, task: Task, items: Sequence[Item]) -> Run:
        """Answer all items, warmed up, the loading not timed."""
        backend = self.open()
        try:
            for _ in answers(warmup_items(self.options.width), task, backend):
                pass
            watch = Stopwatch()
            outcomes = [outcome for _, outcome in answers(items, task, backend)]
            elapsed = watch.stop()
        finally:
            backend.close()
        replies = tuple(map(_reply, outcomes))
        return run_of(NAME, elapsed, replies)


def _reply(outcome: Answer | VedetteError) -> Reply:
    if isinstance(outcome, VedetteError):
        return Reply(error=f"{outcome.code}: {outcome.message}")
    return Reply(value=outcome.value, usage=outcome.usage)
