"""Several closed questions behind a gate: each is kept, or asked again, on its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

from vedette.decide.question import Question
from vedette.errors import InputError
from vedette.tasks.base import Task
from vedette.tasks.calibrations import Calibrations
from vedette.tasks.decide import Decide
from vedette.tasks.decide_answer import said_in, shares_of
from vedette.types import Json

from .subject import CALIBRATE, LARGER_PRIOR, NO_THRESHOLDS, Verdict

_Answers = dict[str, dict[str, Json]]


@dataclass(frozen=True)
class GatedDecide:
    """Implements `Subject`. Raises `InputError` for questions without calibrations."""

    task: Decide

    def __post_init__(self) -> None:
        if self.task.calibrations is None:
            raise InputError(NO_THRESHOLDS, hint=CALIBRATE)

    @property
    def calibrations(self) -> Calibrations:
        """See `Subject`."""
        return cast(Calibrations, self.task.calibrations)

    def larger(self, questions: tuple[str, ...]) -> Task:
        """See `Subject`."""
        asked = tuple(one for one in self.task.questions if one.id in questions)
        return replace(
            self.task,
            questions=asked,
            calibrations=None,
            prior=LARGER_PRIOR,
            explain=False,
            both_orders=False,
        )

    @cached_property
    def _questions(self) -> dict[str, Question]:
        return {question.id: question for question in self.task.questions}

    def verdicts(self, value: Json) -> dict[str, Verdict]:
        """See `Subject`."""
        found = {}
        for name, answer in _answers(value).items():
            question = self._questions[name]
            surest = max(shares_of(question, answer))
            found[name] = Verdict(said_in(question, answer), surest, bool(answer["keep"]))
        return found

    def said(self, value: Json) -> dict[str, str]:
        """See `Subject`."""
        answers = _answers(value).items()
        return {name: said_in(self._questions[name], answer) for name, answer in answers}

    def merged(self, small: Json, large: Json, unsure: Sequence[str], names: Sequence[str]) -> Json:
        """See `Subject`."""
        theirs = _answers(large) if large is not None else {}
        answers: dict[str, Json] = {}
        for name, answer in _answers(small).items():
            if name in unsure:
                answers[name] = {**theirs[name], "keep": False, "tier": names[1]}
            else:
                answers[name] = {**answer, "tier": names[0]}
        return {"answers": answers}


def _answers(value: Json) -> _Answers:
    return cast(_Answers, cast(dict[str, Json], value)["answers"])
