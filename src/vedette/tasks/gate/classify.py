"""A classification behind a gate: it has one question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

from vedette.errors import InputError
from vedette.tasks.base import Task
from vedette.tasks.calibrations import Calibrations
from vedette.tasks.classify import QUESTION, Classify
from vedette.tasks.labels import Label
from vedette.tasks.nearest.task import Nearest
from vedette.tasks.prompt_data import text_of
from vedette.types import Json

from .subject import CALIBRATE, LARGER_PRIOR, NO_THRESHOLDS, Verdict


@dataclass(frozen=True)
class GatedClassify:
    """Implements `Subject`. Raises `InputError` for a classification without calibrations."""

    task: Classify | Nearest

    def __post_init__(self) -> None:
        if self.task.calibrations is None:
            raise InputError(NO_THRESHOLDS, hint=CALIBRATE)

    @property
    def calibrations(self) -> Calibrations:
        """See `Subject`."""
        return cast(Calibrations, self.task.calibrations)

    def larger(self, questions: tuple[str, ...]) -> Task:
        """See `Subject`."""
        return self._larger

    @cached_property
    def _larger(self) -> Classify:
        if isinstance(self.task, Nearest):
            return _read_out(self.task)
        return replace(self.task, calibrations=None, prior=LARGER_PRIOR)

    def verdicts(self, value: Json) -> dict[str, Verdict]:
        """See `Subject`."""
        answer = cast(dict[str, Json], value)
        if answer["label"] is None:
            return {}
        said, confidence = cast(str, answer["label"]), cast(float, answer["probability"])
        return {QUESTION: Verdict(said, confidence, bool(answer["keep"]))}

    def said(self, value: Json) -> dict[str, str]:
        """See `Subject`."""
        return {QUESTION: cast(str, cast(dict[str, Json], value)["label"])}

    def merged(self, small: Json, large: Json, unsure: Sequence[str], names: Sequence[str]) -> Json:
        """See `Subject`."""
        if not unsure:
            return {**cast(dict[str, Json], small), "tier": names[0]}
        return {**cast(dict[str, Json], large), "keep": False, "tier": names[1]}


def _read_out(task: Nearest) -> Classify:
    """All names to choose from, without the examples.

    Hundreds of these are more than most prompts have room for, and a larger model knows labels by
    their names and descriptions.
    """
    outside = Label(task.out_of_scope, text_of("nearest", "out_of_scope"))
    return Classify(
        labels=(*task.labels, outside) if task.out_of_scope else task.labels,
        prior=LARGER_PRIOR,
        instructions=task.instructions,
    )
