"""Which of a request's rows say the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vedette.api.duplicates import Duplicate, dedupe
from vedette.backends.base import Backend
from vedette.batch.record_text import compared
from vedette.batch.results import Outcome
from vedette.errors import InputError
from vedette.tasks.dedupe import Normalise
from vedette.types import Answer, Item, Json


class Dedupe:
    """Implements `Together`; its options are those of `vedette.dedupe`."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        dedupe([], **options)  # finds what is wrong with the options

    def outcomes(self, items: Sequence[Item], backend: Backend, workers: int) -> list[Outcome]:
        """See `Together`. The values are those of `vedette dedupe`."""
        asked = backend if self._options.get("model_check") else None
        rows = [self._row(item) for item in items]
        found = dedupe(rows, **self._options, backend=asked)
        numbers: dict[int, int] = {}
        return [
            self._answer(item, one, items, numbers) for item, one in zip(items, found, strict=True)
        ]

    def _row(self, item: Item) -> str | Mapping[str, Json]:
        """What is compared: the text, or the fields that are named."""
        if self._fields:
            if not any(name in item.columns for name in self._fields):
                listed = ", ".join(map(repr, self._fields))
                raise InputError(f"the input {item.id} has none of the fields {listed}")
            return item.columns
        if not item.columns:
            return item.text
        text = item.columns.get("text")
        if not isinstance(text, str):
            raise InputError(
                f"the input {item.id} has no text", hint="name the fields to compare: fields"
            )
        return text

    @property
    def _fields(self) -> tuple[str, ...]:
        return tuple(self._options.get("fields", ()))

    def _answer(
        self, item: Item, one: Duplicate, items: Sequence[Item], numbers: dict[int, int]
    ) -> Answer:
        value: dict[str, Json] = {
            "cluster": numbers.setdefault(one.representative, len(numbers) + 1),
            "representative": items[one.representative].id,
            "how": one.how,
            "score": one.score,
        }
        if one.via is not None:
            value["via"] = items[one.via].id
        extra: dict[str, Json] = {} if self._has_text(item) else {"empty": True}
        return Answer(value=value, extra=extra, usage=one.usage)

    def _has_text(self, item: Item) -> bool:
        row = self._row(item)
        shown = row if isinstance(row, str) else compared(item, self._fields, Normalise.of("none"))
        return bool(shown.strip())
