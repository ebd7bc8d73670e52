"""Objects out of labelled rows, to a threshold over which they can be kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

from vedette.backends.base import Backend
from vedette.batch.answers import answers
from vedette.decide.calibration import Promise
from vedette.decide.risk import Judged, find_threshold
from vedette.errors import InputError
from vedette.tasks.extract import NO_OBJECT, Extract
from vedette.tasks.extract_thresholds import ExtractThresholds
from vedette.types import Answer, Item, Json


def values_of(items: Sequence[Item], column: str, task: Extract) -> list[Json]:
    """The right object of each row. Raises `InputError` for one that the schema does not allow."""
    values = []
    for item in items:
        value = item.columns[column]
        fault = task.fault_of(value)
        if fault is not None:
            raise InputError(
                f"row {item.id}: its {column} does not fit the schema: {fault}",
                hint="no answer could ever be the same",
            )
        values.append(value)
    return values


def calibrate_extract(
    task: Extract,
    items: Sequence[Item],
    right: Sequence[Json],
    backend: Backend,
    promise: Promise,
    *,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> ExtractThresholds:
    """Answer the rows and find the laxest threshold on the confidence that keeps the promise.

    An object is right if it is the row's, all of it. A row without an object counts as wrong and
    as unsure as can be. Raises any other error: a promise over fewer rows than were given is not
    the one asked for.
    """
    judged: list[Judged] = []
    asked = replace(task, thresholds=None, tells_confidence=True)
    for (_, outcome), value in zip(answers(items, asked, backend), right, strict=True):
        if isinstance(outcome, Answer):
            confidence = cast(float, outcome.extra["confidence"])
            judged.append(Judged(confidence, is_same(outcome.value, value)))
        elif isinstance(outcome, NO_OBJECT):
            judged.append(Judged(0.0, False))
        else:
            raise outcome
        tell(len(judged), len(items))
    threshold = find_threshold(judged, promise.alpha, promise.delta)
    return ExtractThresholds(task.key(backend), promise, threshold, len(judged))


def is_same(one: Json, other: Json) -> bool:
    """Whether two values are the same JSON: 1 is 1.0 and not true, and an object has no order."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other
