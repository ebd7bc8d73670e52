"""Tags of a given list: a yes or no for each, over one reading of the text."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from vedette.backends.base import Backend
from vedette.decide.question import Question
from vedette.errors import InputError
from vedette.tasks.base import Steps
from vedette.tasks.decide import Decide
from vedette.tasks.labels import Label, check_labels
from vedette.tasks.prompt_data import fill
from vedette.types import Answer, Item, Json

from .data import load_preset


@dataclass(frozen=True)
class ListedTags:
    """Implements `Task`: `{"tags": [...], "probabilities": {tag: chance that it applies}}`.

    `tags` are those over `threshold`, the likeliest first, at most `most` (None: any number).
    Raises `LabelError` for a list that cannot be used, `InputError` for numbers that cannot.
    """

    labels: tuple[Label, ...]
    threshold: float
    most: int | None = None
    name: str = field(default="tag", init=False)

    def __post_init__(self) -> None:
        check_labels(self.labels)
        if not 0 < self.threshold < 1:
            raise InputError(f"the threshold is {self.threshold}; it must be between 0 and 1")
        if self.most is not None and self.most < 1:
            raise InputError(f"most is {self.most}; it must be at least 1")

    @cached_property
    def _decide(self) -> Decide:
        asked = load_preset("tag")["question"]
        meanings = (f" ({one.description})" if one.description else "" for one in self.labels)
        return Decide(
            questions=tuple(
                Question(one.name, "noul", fill(asked, tag=one.name, meaning=meaning))
                for one, meaning in zip(self.labels, meanings, strict=True)
            )
        )

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        parameters: Json = {"threshold": self.threshold, "most": self.most}
        return {**self._decide.identity, "tags": parameters}

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        answer = yield from self._decide.steps(item, backend)
        answers = cast(dict[str, Any], answer.value)["answers"]
        chances = {name: one["noul"] for name, one in answers.items()}
        over = sorted(
            (n for n, p in chances.items() if p > self.threshold), key=lambda n: -chances[n]
        )
        tags: list[Json] = [*over[: self.most]]
        value: Json = {"tags": tags, "probabilities": chances}
        return Answer(value=value, usage=answer.usage, extra=answer.extra)
