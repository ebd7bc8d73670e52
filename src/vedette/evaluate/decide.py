"""Closed questions over labelled rows: a report, or a calibration, for each question."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

from vedette.backends.base import Backend
from vedette.batch.answers import answers
from vedette.decide.calibration import Promise, calibrate
from vedette.decide.confidence import expected_level
from vedette.decide.question import Question
from vedette.errors import CapabilityMissing, InputError, VedetteError
from vedette.tasks.calibrations import Calibrations
from vedette.tasks.decide import Decide
from vedette.tasks.decide_answer import right_option, shares_of
from vedette.types import Answer, Item, Json, Usage

from .report import Report, Verdict
from .run import SHOWN_CHARACTERS, Tell

Right: TypeAlias = Mapping[str, Sequence[int | None]]
"""For each question the index of each row's right option; None where the row does not say."""


def right_answers(questions: Sequence[Question], items: Sequence[Item]) -> Right:
    """What rows call right, in the field of each question's id.

    Raises `InputError` for what is no answer to the question, and for a question that no row
    answers.
    """
    right = {
        question.id: [
            right_option(question, item.columns.get(question.id), f"row {item.id}")
            for item in items
        ]
        for question in questions
    }
    for name, options in right.items():
        if all(option is None for option in options):
            raise InputError(f"no row says what is right in its field {name!r}")
    return right


def evaluate_decide(
    task: Decide,
    items: Sequence[Item],
    right: Right,
    backend: Backend,
    *,
    model: str,
    data: str,
    tell: Tell = lambda done, total: None,
) -> list[Report]:
    """Answer the rows as a job would; a report for each question, over the rows that know it.

    The time and the tokens are those of all questions together.
    """
    started = time.perf_counter()
    usage = Usage()
    verdicts: dict[str, list[Verdict]] = {question.id: [] for question in task.questions}
    for number, (item, outcome) in enumerate(answers(items, task, backend)):
        if isinstance(outcome, Answer):
            usage += outcome.usage
        for question in task.questions:
            option = right[question.id][number]
            if option is not None:
                verdicts[question.id].append(_verdict(item, question, option, outcome))
        tell(number + 1, len(items))
    seconds = time.perf_counter() - started
    return [
        Report(
            task=f"decide {question.id}",
            model=model,
            data=data,
            verdicts=tuple(verdicts[question.id]),
            labels=question.names,
            seconds=seconds,
            usage=usage,
        )
        for question in task.questions
    ]


def _verdict(
    item: Item, question: Question, option: int, outcome: Answer | VedetteError
) -> Verdict:
    text, right = item.text[:SHOWN_CHARACTERS], question.names[option]
    if isinstance(outcome, VedetteError):
        return Verdict(id=item.id, text=text, right=right, answer=None, error=outcome.message)
    value = cast(dict[str, dict[str, dict[str, Json]]], outcome.value)
    answer = value["answers"][question.id]
    shares = shares_of(question, answer)
    best = max(range(len(shares)), key=lambda i: shares[i])
    keep = answer.get("keep")
    is_level = question.kind == "score"
    return Verdict(
        id=item.id,
        text=text,
        right=right,
        answer=question.names[best],
        confidence=shares[best],
        kept=keep if isinstance(keep, bool) else None,
        distance=abs(expected_level(shares) - option) if is_level else None,
    )


def calibrate_decide(
    task: Decide,
    items: Sequence[Item],
    right: Right,
    backend: Backend,
    promise: Promise,
    *,
    by_choice: bool = False,
    tell: Tell = lambda done, total: None,
) -> Calibrations:
    """Score the rows and fit each question on the rows that know its answer.

    Raises `CapabilityMissing` for a backend without scores, and the error of the first row that
    cannot be scored: a promise over fewer rows than were given is not the one asked for.
    """
    if not backend.capabilities.can_score:
        raise CapabilityMissing("calibrate needs a backend that can score choices")
    scored: list[dict[str, list[float]]] = []
    for _, outcome in answers(items, task.raw_scores(), backend):
        if not isinstance(outcome, Answer):
            raise outcome
        scored.append(cast(dict[str, list[float]], outcome.value))
        tell(len(scored), len(items))
    fitted = {}
    for question in task.questions:
        known = [
            (row[question.id], option)
            for row, option in zip(scored, right[question.id], strict=True)
            if option is not None
        ]
        rows, options = zip(*known, strict=True)
        fitted[question.id] = calibrate(question.names, rows, options, promise, by_choice=by_choice)
    return Calibrations(task.name, task.key(backend), fitted)
