"""What a task learns from a job's first rows, before it answers any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from vedette.backends.base import Backend
from vedette.tasks.base import Embeds, Learner, Task
from vedette.types import Answer, Item, Json

from .drive import Driver
from .placing import place, placing
from .rows import Row

ROWS_PER_TEXT = 2  # rows looked at for each text wanted: a job of one repeated text must end
POLL_S = 0.2  # how often a request to stop is looked for


class Head:
    """The first rows of a job: taken from the source for a look, then given back in order."""

    def __init__(self, n_texts: int) -> None:
        self.rows: list[Row] = []
        self._n_texts = n_texts
        self._texts: dict[str, Item] = {}

    @property
    def is_full(self) -> bool:
        """Whether enough different texts have been seen, or rows to give up finding them."""
        return max(len(self._texts), len(self.rows) / ROWS_PER_TEXT) >= self._n_texts

    @property
    def items(self) -> list[Item]:
        """One item for each different text that is not blank."""
        return list(self._texts.values())

    def add(self, row: Row) -> None:
        """Keep a row."""
        self.rows.append(row)
        if isinstance(row, Item) and row.text.strip():
            self._texts.setdefault(row.text, row)


def learn(
    task: Learner,
    items: Sequence[Item],
    driver: Driver[str],
    workers: int,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[Json, Task] | None:
    """The task's finding from these items, and the task that knows it.

    `driver` is one for `task.study_task()`; texts that cannot be asked are left out here, and
    get their error when their row's turn comes. Returns None when `stop` said so meanwhile.
    """
    found: dict[str, Answer] = {}
    waiting = iter(items)
    with driver:
        while True:
            while driver.in_flight < workers and (item := next(waiting, None)) is not None:
                driver.start(item.text, item)
            if not driver.in_flight:
                # In the order of the items, not of the answers: the sum of a mean depends on it.
                answers = {item.text: found[item.text] for item in items if item.text in found}
                finding = task.learnt(list(answers.values()))
                return finding, task.knowing(finding, answers)
            for text, outcome in driver.wait(POLL_S):
                if isinstance(outcome, Answer):
                    found[text] = outcome
            if stop():
                return None


def studied(
    task: Task, items: Iterable[Item], backend: Backend, workers: int
) -> tuple[Task, Iterator[Item]]:
    """The task, having looked at the first items if it wants to, and all the items."""
    source = iter(items)
    if isinstance(task, Embeds):
        placed = place(task, Driver(placing(task), backend), backend, workers)
        return placed or task, source
    n_texts = task.study_rows(backend) if isinstance(task, Learner) else 0
    if not isinstance(task, Learner) or not n_texts:
        return task, source
    head = Head(n_texts)
    while not head.is_full and (item := next(source, None)) is not None:
        head.add(item)
    known: Task = task
    if len(head.items) >= task.least_study_rows:
        learnt = learn(task, head.items, Driver(task.study_task(), backend), workers)
        known = learnt[1] if learnt is not None else task
    return known, chain((row for row in head.rows if isinstance(row, Item)), source)
