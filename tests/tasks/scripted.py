"""A backend that only counts words, and a driver that answers a task's requests from a script."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from vedette.tasks.base import Ask, Task
from vedette.types import Answer, Capabilities, Completion, Item, Request, Scores, Usage

ONE_EACH = Usage(prompt_tokens=10, sampled_tokens=1)


class WordBackend:
    """Counts a word as a token; asking it anything is a mistake of the test."""

    def __init__(self, **capabilities: Any) -> None:
        self.capabilities = Capabilities(
            **{"can_constrain": True, "can_score": True, "can_copy": True, **capabilities}
        )

    def count_tokens(self, text: str) -> int:
        return len(text.split())


def completion(value: object) -> Completion:
    text = value if isinstance(value, str) else json.dumps(value)
    return Completion(text=text, finish_reason="stop", usage=ONE_EACH)


def scores(*logprobs: float) -> Scores:
    names = tuple(str(i) for i in range(len(logprobs)))
    return Scores(choices=names, logprobs=logprobs, usage=ONE_EACH)


def run_by_hand(
    task: Task,
    item: str | Item,
    respond: Callable[[Ask], object],
    backend: WordBackend | None = None,
) -> tuple[Answer, list[Sequence[Ask]]]:
    """The answer to one item (or text), and the requests of each step."""
    item = item if isinstance(item, Item) else Item(id="1", text=item)
    steps = task.steps(item, backend or WordBackend())
    asked: list[Sequence[Ask]] = []
    try:
        asks = next(steps)
        while True:
            asked.append(asks)
            asks = steps.send([respond(ask) for ask in asks])
    except StopIteration as end:
        return end.value, asked


def user_text(ask: Ask) -> str:
    return ask.prompt.messages[-1].content


def always(value: object) -> Callable[[Ask], object]:
    def respond(ask: Ask) -> object:
        assert isinstance(ask, Request)
        return completion(value)

    return respond
