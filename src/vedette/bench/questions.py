"""What both sides are asked: the requests that vedette's own task makes for each item."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vedette.backends.base import Backend
from vedette.batch import BadRow, Row
from vedette.errors import InputError
from vedette.tasks.base import Ask, Task
from vedette.types import Item, Prompt, Request

TOKENS_PER_MESSAGE = 16  # a generous count of what a chat template adds to a message
SLOT_STEP_TOKENS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """An item and the requests of its first step, several where a long text is read in parts."""

    item: Item
    asks: tuple[Ask, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """The items that need a model, and how many do not take part.

    `blank` ones are answered without a model, `refused` ones are unreadable or too long; neither
    side is asked about them.
    """

    asked: tuple[Question, ...]
    blank: int
    refused: int

    @property
    def items(self) -> tuple[Item, ...]:
        """The items that are asked about."""
        return tuple(question.item for question in self.asked)


def questions_of(rows: Iterable[Row], task: Task, backend: Backend) -> Questions:
    """Sort the rows. Raises `InputError` if none of them needs a model."""
    asked: list[Question] = []
    blank = refused = 0
    for row in rows:
        if isinstance(row, BadRow):
            refused += 1
            continue
        try:
            asks = first_asks(row, task, backend)
        except InputError:
            refused += 1
            continue
        if asks:
            asked.append(Question(item=row, asks=asks))
        else:
            blank += 1
    if not asked:
        raise InputError(
            f"there is nothing to ask: {blank} rows are blank, {refused} cannot be asked"
        )
    return Questions(asked=tuple(asked), blank=blank, refused=refused)


def warmup_questions(count: int, task: Task, backend: Backend) -> tuple[Question, ...]:
    """Questions about `warmup_items`."""
    return tuple(
        Question(item=item, asks=first_asks(item, task, backend)) for item in warmup_items(count)
    )


def warmup_items(count: int) -> tuple[Item, ...]:
    """What is asked before the clock runs, so that the shared prompt has been read.

    The texts are in no data, so that no answer of the measurement is in a cache.
    """
    return tuple(
        Item(id=f"warm-up {n}", text=f"Warm-up {n}: nothing to see here, line {n * 7919}.")
        for n in range(1, count + 1)
    )


def first_asks(item: Item, task: Task, backend: Backend) -> tuple[Ask, ...]:
    """The requests of the item's first step, not sent; none if it is answered without a model."""
    steps = task.steps(item, backend)
    try:
        return tuple(next(steps))
    except StopIteration:
        return ()
    finally:
        steps.close()


def slot_tokens(questions: Iterable[Question], backend: Backend) -> int:
    """Tokens that the longest request needs, prompt and answer, rounded up."""
    counted: dict[str, int] = {}

    def count(prompt: Prompt) -> int:
        total = 0
        for message in prompt.messages:
            if message.content not in counted:
                counted[message.content] = backend.count_tokens(message.content)
            total += counted[message.content] + TOKENS_PER_MESSAGE
        return total

    most = max(
        count(ask.prompt) + (ask.max_tokens if isinstance(ask, Request) else SLOT_STEP_TOKENS)
        for question in questions
        for ask in question.asks
    )
    return -(-most // SLOT_STEP_TOKENS) * SLOT_STEP_TOKENS
