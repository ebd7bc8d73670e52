"""What a gate needs to know of the task that it stands behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from vedette.tasks.base import Task
from vedette.tasks.calibrations import Calibrations
from vedette.types import Json

LARGER_PRIOR = "none"
"""Rows that come to a larger model are those in doubt: no fair mixture to measure a prior on."""

NO_THRESHOLDS = "what goes to a larger model is decided by thresholds, and there are none"
CALIBRATE = "vedette calibrate finds them on labelled rows of yours"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the small model answered to one question, how sure it was, and whether that is kept."""

    said: str
    confidence: float
    keep: bool


class Subject(Protocol):
    """A calibrated task with one or more closed questions, each kept or not on its own."""

    @property
    def task(self) -> Task:
        """The task as the small model does it, with its calibrations."""
        ...

    @property
    def calibrations(self) -> Calibrations:
        """What it keeps, for each question."""
        ...

    def larger(self, questions: tuple[str, ...]) -> Task:
        """These questions as a larger model is asked them: without the calibrations.

        Its value may come without probabilities, from a backend that cannot score.
        """
        ...

    def verdicts(self, value: Json) -> dict[str, Verdict]:
        """Of the small model's value, by question; none where nothing was asked."""
        ...

    def said(self, value: Json) -> dict[str, str]:
        """Of the larger model's value: what it answered, by question."""
        ...

    def merged(self, small: Json, large: Json, unsure: Sequence[str], names: Sequence[str]) -> Json:
        """The small one's value with the larger one's answers to the `unsure` questions.

        `names` are the models, small and large; `tier` of an answer says whose it is. `large` is
        None where there are no such questions.
        """
        ...
