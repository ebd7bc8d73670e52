"""What a task scores, before anything is corrected: what calibrations and priors are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from vedette.backends.base import Backend
from vedette.types import Answer, Item, Json, Scores, Usage

from .base import Steps, Task
from .reply import scores_of


class Scored(Task, Protocol):
    """A task whose first requests are all for scores."""

    def uncorrected(self, rows: Sequence[Scores]) -> Json:
        """The log-probabilities in the replies to these requests."""
        ...


@dataclass(frozen=True, slots=True)
class RawScores:
    """Implements `Task`: asks what `task` asks first, and answers with the scores as they are."""

    task: Scored

    @property
    def name(self) -> str:
        """That of the task."""
        return self.task.name

    @property
    def identity(self) -> dict[str, Json]:
        """That of the task."""
        return self.task.identity

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        asking = self.task.steps(item, backend)
        results = yield next(asking)
        asking.close()
        rows = [scores_of(result) for result in results]
        usage = sum((row.usage for row in rows), Usage())
        return Answer(value=self.task.uncorrected(rows), usage=usage)
