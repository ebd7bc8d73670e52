"""A task over labelled rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import cast

from vedette.backends.base import Backend
from vedette.batch.answers import answers
from vedette.decide.calibration import Promise, calibrate
from vedette.errors import CapabilityMissing, VedetteError
from vedette.tasks.calibrations import Calibrations
from vedette.tasks.classify import QUESTION, Classify
from vedette.tasks.nearest.task import Nearest
from vedette.types import Answer, Item, Usage

from .report import Report, Verdict, verdict_of

SHOWN_CHARACTERS = 400  # of a row in the report
Tell = Callable[[int, int], None]


def evaluate_classify(
    task: Classify | Nearest,
    items: Sequence[Item],
    right: Sequence[str],
    backend: Backend,
    *,
    model: str,
    data: str,
    tell: Tell = lambda done, total: None,
) -> Report:
    """Classify the rows as a job would and hold the labels against the right ones."""
    started = time.perf_counter()
    verdicts: list[Verdict] = []
    usage = Usage()
    for (item, outcome), label in zip(answers(items, task, backend), right, strict=True):
        if isinstance(outcome, VedetteError):
            verdict = verdict_of(item.id, item.text, label, None, outcome.message)
        else:
            verdict = verdict_of(item.id, item.text[:SHOWN_CHARACTERS], label, outcome.value)
            usage += outcome.usage
        verdicts.append(verdict)
        tell(len(verdicts), len(items))
    return Report(
        task=task.name,
        model=model,
        data=data,
        verdicts=tuple(verdicts),
        labels=task.names,
        seconds=time.perf_counter() - started,
        usage=usage,
    )


def calibrate_classify(
    task: Classify | Nearest,
    items: Sequence[Item],
    right: Sequence[str],
    backend: Backend,
    promise: Promise,
    *,
    by_choice: bool = False,
    tell: Tell = lambda done, total: None,
) -> Calibrations:
    """Score the rows and fit prior, temperature and threshold.

    Raises `CapabilityMissing` for a backend without scores, and the error of the first row that
    cannot be scored: a promise over fewer rows than were given is not the one asked for.
    """
    if not backend.capabilities.can_score:
        raise CapabilityMissing("calibrate needs a backend that can score choices")
    rows: list[list[float]] = []
    for _, outcome in answers(items, task.raw_scores(), backend):
        if not isinstance(outcome, Answer):
            raise outcome
        rows.append(cast(list[float], outcome.value))
        tell(len(rows), len(items))
    indices = [task.names.index(label) for label in right]
    fitted = calibrate(
        task.names, rows, indices, promise, by_choice=by_choice, has_prior=task.has_prior
    )
    return Calibrations(task.name, task.key(backend), {QUESTION: fitted})
