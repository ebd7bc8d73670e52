"""Harmless texts through the guard, to thresholds that rarely flag such texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

from vedette.backends.base import Backend
from vedette.batch.answers import answers
from vedette.batch.rows import BadRow
from vedette.batch.source import Source
from vedette.decide.false_positives import find_flag_threshold
from vedette.errors import InputError
from vedette.tasks.guard.task import Guard
from vedette.tasks.guard.thresholds import GuardThresholds
from vedette.types import Answer, Item, Json


def harmless_texts(source: Source) -> list[Item]:
    """All rows of a source. Raises `InputError` for one that cannot be read or has no text."""
    items = []
    for row in source.rows():
        if isinstance(row, BadRow):
            raise InputError(f"a row cannot be read: {row.error.message}")
        if not row.text.strip():
            raise InputError(f"row {row.id} has no text", hint="take it out")
        items.append(row)
    return items


def calibrate_guard(
    task: Guard,
    items: Sequence[Item],
    backend: Backend,
    fpr: float,
    delta: float,
    *,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> GuardThresholds:
    """A threshold for each policy, from the scores of texts that must not be flagged.

    Raises the error of the first text that cannot be scored, and `InputError` where there are too
    few texts for the promise.
    """
    scores: dict[str, list[float]] = {policy.id: [] for policy in task.policies}
    scorer = replace(task, ask_all=True)
    for done, (_, outcome) in enumerate(answers(items, scorer, backend), start=1):
        if not isinstance(outcome, Answer):
            raise outcome
        value = cast(dict[str, Json], outcome.value)
        verdicts = cast(dict[str, dict[str, Json]], value.get("policies"))
        for policy in task.policies:
            verdict = verdicts[policy.id] if len(task.policies) > 1 else value
            scores[policy.id].append(cast(float, verdict["score"]))
        tell(done, len(items))
    found = {name: find_flag_threshold(values, fpr, delta) for name, values in scores.items()}
    return GuardThresholds(task.key(backend), found)
