"""The tasks that can be trained: what is asked about a row, what is right, how answers are judged.

The judging is that of `vedette eval`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from vedette.backends.base import Backend
from vedette.errors import InputError, InputTooLong
from vedette.evaluate.decide import Right, evaluate_decide
from vedette.evaluate.extract import evaluate_extract
from vedette.evaluate.run import Tell, evaluate_classify
from vedette.json_text import json_text
from vedette.tasks.answer_order import in_order
from vedette.tasks.base import Ask, Task
from vedette.tasks.classify import Classify
from vedette.tasks.decide import Decide
from vedette.tasks.extract import Extract
from vedette.types import Item, Json


@dataclass(frozen=True, slots=True)
class Marks:
    """How the held-back rows were answered.

    `right` has an entry for each answer, in the order of rows and questions; `parts` the share of
    right ones of each question, or each field; `errors` are those that ended in an error, which
    count as wrong.
    """

    right: tuple[bool, ...]
    errors: int
    parts: dict[str, float] = field(default_factory=dict)

    @property
    def n_right(self) -> int:
        """Right answers."""
        return sum(self.right)

    @property
    def accuracy(self) -> float:
        """Their share."""
        return self.n_right / len(self.right)

    def as_dict(self) -> dict[str, Json]:
        """For the report."""
        return {
            "n": len(self.right),
            "right": self.n_right,
            "accuracy": round(self.accuracy, 4),
            "errors": self.errors,
            "parts": {name: round(share, 4) for name, share in self.parts.items()},
        }


class Subject(Protocol):
    """Labelled rows of a task."""

    @property
    def name(self) -> str:
        """The task's verb."""
        ...

    @property
    def task(self) -> Task:
        """The task, as it is asked with the adapter."""
        ...

    @property
    def items(self) -> Sequence[Item]:
        """The rows."""
        ...

    def taught(self, number: int, backend: Backend) -> list[tuple[Ask, str]]:
        """What the task asks about a row, each with the text of the right answer.

        Raises `InputError` for a row that it does not ask in one piece.
        """
        ...

    def marks(
        self, numbers: Sequence[int], backend: Backend, *, is_adapted: bool, tell: Tell
    ) -> Marks:
        """Answer these rows as a job would. `is_adapted` tells whether the adapter is applied."""
        ...


def _asks(task: Task, item: Item, backend: Backend) -> Sequence[Ask]:
    """What a task asks first about an item; nothing for an empty one."""
    steps = task.steps(item, backend)
    try:
        return next(steps, ())
    finally:
        steps.close()


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """Implements `Subject`: rows with a label each."""

    task: Classify
    items: Sequence[Item]
    right: Sequence[str]
    name: str = field(default="classify", init=False)

    def taught(self, number: int, backend: Backend) -> list[tuple[Ask, str]]:
        """See `Subject.taught`."""
        # Without a prior nothing is asked but the question itself.
        asks = _asks(replace(self.task, prior="none"), self.items[number], backend)
        return [(ask, self.right[number]) for ask in asks]

    def marks(
        self, numbers: Sequence[int], backend: Backend, *, is_adapted: bool, tell: Tell
    ) -> Marks:
        """See `Subject.marks`."""
        report = evaluate_classify(
            self.task,
            [self.items[number] for number in numbers],
            [self.right[number] for number in numbers],
            backend,
            model=backend.name,
            data="",
            tell=tell,
        )
        verdicts = report.verdicts
        return Marks(tuple(v.is_right for v in verdicts), sum(bool(v.error) for v in verdicts))


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Implements `Subject`: rows with answers to closed questions."""

    task: Decide
    items: Sequence[Item]
    right: Right
    name: str = field(default="decide", init=False)

    def taught(self, number: int, backend: Backend) -> list[tuple[Ask, str]]:
        """See `Subject.taught`. Questions that the row says nothing of are left out."""
        asks = _asks(replace(self.task, prior="none"), self.items[number], backend)
        questions = self.task.questions
        taught = []
        for place, ask in enumerate(asks):
            question = questions[place % len(questions)]  # those in reverse order come last
            option = self.right[question.id][number]
            if option is not None:
                taught.append((ask, question.names[option]))
        return taught

    def marks(
        self, numbers: Sequence[int], backend: Backend, *, is_adapted: bool, tell: Tell
    ) -> Marks:
        """See `Subject.marks`. Raises `InputError` where a question has no answer held back."""
        right = {name: [known[n] for n in numbers] for name, known in self.right.items()}
        for name, known in right.items():
            if all(option is None for option in known):
                raise InputError(
                    f"no row that is held back says what is right for {name!r}",
                    hint="give more rows, or another --seed",
                )
        items = [self.items[number] for number in numbers]
        reports = evaluate_decide(
            self.task, items, right, backend, model=backend.name, data="", tell=tell
        )
        verdicts = [verdict for report in reports for verdict in report.verdicts]
        shares = zip(self.task.questions, reports, strict=True)
        return Marks(
            tuple(verdict.is_right for verdict in verdicts),
            sum(bool(verdict.error) for verdict in verdicts),
            {question.id: report.accuracy for question, report in shares},
        )


@dataclass(frozen=True, kw_only=True)
class Extracted:
    """Implements `Subject`: rows with the object that is right.

    A task that shows no schema is one for tuned models, so the plain model is shown it all the
    same: else any adapter would be better than a model that was told nothing.
    """

    task: Extract
    items: Sequence[Item]
    right: Sequence[Json]
    name: str = field(default="extract", init=False)

    def taught(self, number: int, backend: Backend) -> list[tuple[Ask, str]]:
        """See `Subject.taught`."""
        asks = _asks(self.task, self.items[number], backend)
        if len(asks) > 1:
            raise InputTooLong(f"the task reads it in {len(asks)} windows")
        answer = json_text(in_order(self.right[number], self.task.schema))
        return [(ask, answer) for ask in asks]

    def marks(
        self, numbers: Sequence[int], backend: Backend, *, is_adapted: bool, tell: Tell
    ) -> Marks:
        """See `Subject.marks`."""
        report = evaluate_extract(
            self.task if is_adapted else replace(self.task, prompt_schema=True),
            [self.items[number] for number in numbers],
            [self.right[number] for number in numbers],
            backend,
            model=backend.name,
            data="",
            tell=tell,
        )
        verdicts = report.verdicts
        return Marks(
            tuple(verdict.is_right for verdict in verdicts),
            sum(bool(verdict.error) for verdict in verdicts),
            report.fields,
        )
