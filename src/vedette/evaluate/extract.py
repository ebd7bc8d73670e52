"""Extraction over labelled rows: how many objects, and how many of each field, are right."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from vedette.backends.base import Backend
from vedette.batch.answers import answers
from vedette.errors import VedetteError
from vedette.tasks.extract import Extract
from vedette.types import Item, Json, Usage

from .calibrate_extract import is_same
from .report import MOST_WRONG
from .run import SHOWN_CHARACTERS, Tell


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractVerdict:
    """One row: what is right and what was answered; `error` where there is no answer."""

    id: str
    text: str
    right: Json
    answer: Json
    error: str = ""

    @property
    def is_right(self) -> bool:
        """Whether all of the answer is right."""
        return not self.error and is_same(self.answer, self.right)

    def has(self, name: str) -> bool:
        """Whether the answer has the right value in a top-level field, or rightly none."""
        answer, right = self.answer, self.right
        if self.error or not isinstance(answer, dict) or not isinstance(right, dict):
            return False
        if (name in answer) != (name in right):
            return False
        return name not in right or is_same(answer[name], right[name])


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractReport:
    """An evaluation of extracted objects. Rows that ended in an error count as wrong."""

    task: str
    model: str
    data: str
    verdicts: tuple[ExtractVerdict, ...]
    names: tuple[str, ...]
    seconds: float
    usage: Usage = field(default_factory=Usage)

    @property
    def accuracy(self) -> float:
        """Share of rows of which the whole object is right."""
        return sum(v.is_right for v in self.verdicts) / len(self.verdicts)

    @property
    def fields(self) -> dict[str, float]:
        """Share of rows in which a top-level field is right, by its name."""
        n = len(self.verdicts)
        return {name: sum(v.has(name) for v in self.verdicts) / n for name in self.names}

    @property
    def wrong(self) -> list[ExtractVerdict]:
        """Rows that are not right, in their order."""
        return [verdict for verdict in self.verdicts if not verdict.is_right]

    def as_dict(self) -> dict[str, object]:
        """One JSON object."""
        usage = self.usage
        return {
            "task": self.task,
            "model": self.model,
            "data": self.data,
            "n": len(self.verdicts),
            "errors": sum(bool(v.error) for v in self.verdicts),
            "accuracy": round(self.accuracy, 4),
            "fields": {name: round(share, 4) for name, share in self.fields.items()},
            "items_per_s": round(len(self.verdicts) / self.seconds, 3),
            "seconds": round(self.seconds, 2),
            "tokens": usage.prompt_tokens - usage.cached_tokens + usage.completion_tokens,
            "usage": usage,
            "wrong": self.wrong[:MOST_WRONG],
        }


def evaluate_extract(
    task: Extract,
    items: Sequence[Item],
    right: Sequence[Json],
    backend: Backend,
    *,
    model: str,
    data: str,
    tell: Tell = lambda done, total: None,
) -> ExtractReport:
    """Answer the rows as a job would and hold the objects against the right ones."""
    started = time.perf_counter()
    verdicts: list[ExtractVerdict] = []
    usage = Usage()
    for (item, outcome), value in zip(answers(items, task, backend), right, strict=True):
        answer, error = None, ""
        if isinstance(outcome, VedetteError):
            error = outcome.message
        else:
            answer = outcome.value
            usage += outcome.usage
        text = item.text[:SHOWN_CHARACTERS]
        verdicts.append(
            ExtractVerdict(id=item.id, text=text, right=value, answer=answer, error=error)
        )
        tell(len(verdicts), len(items))
    return ExtractReport(
        task=task.name,
        model=model,
        data=data,
        verdicts=tuple(verdicts),
        names=tuple(task.schema.get("properties", ())),
        seconds=time.perf_counter() - started,
        usage=usage,
    )
