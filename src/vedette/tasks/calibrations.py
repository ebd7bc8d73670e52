"""A threshold file: what labelled rows said about a task's questions, for one model and prompt."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson

from vedette.backends.base import Identified
from vedette.decide.calibration import Calibration, calibration_of
from vedette.errors import CalibrationMismatch
from vedette.types import Json

from . import threshold_file

FORMAT = "vedette-calibration-1"
KeyFor: TypeAlias = Callable[[Identified], str]


@dataclass(frozen=True, slots=True)
class Calibrations:
    """The calibration of each question of a task. `key` binds them to what they were made for."""

    task: str
    key: str
    questions: Mapping[str, Calibration]

    def check(self, task: str, key_for: KeyFor, backend: Identified) -> None:
        """Raises `CalibrationMismatch` unless they were made for this task and backend.

        `key_for` makes the key of a backend.
        """
        if (self.task, self.key) != (task, key_for(backend)):
            if self.task == task:
                refuse_source(self.key, key_for, backend)
            what = (
                "another task" if self.task != task else "another model or prompt, or other choices"
            )
            raise CalibrationMismatch(
                f"the threshold file was made for {what}, so its promise does not hold here",
                hint="calibrate again with this model, this prompt and these choices",
            )

    @property
    def identity(self) -> Json:
        """What an answer depends on."""
        return threshold_file.hash_of(self.as_dict())

    def as_dict(self) -> dict[str, Json]:
        """The file's content."""
        return {
            "format": FORMAT,
            "task": self.task,
            "made_for": self.key,
            "questions": {name: one.as_dict() for name, one in self.questions.items()},
        }

    def write(self, path: str) -> None:
        """Write the file, whole or not at all. Raises `FileError`."""
        threshold_file.write(path, self.as_dict())


def key_of(made_for: object, backend: Identified) -> str:
    """A hash of what scores depend on: prompt and labels, and the backend's model."""
    identity = {"made_for": made_for, "backend": backend.identity}
    return hashlib.sha256(orjson.dumps(identity, option=orjson.OPT_SORT_KEYS)).hexdigest()


def refuse_source(key: str, key_for: KeyFor, backend: Identified) -> None:
    """Raises `CalibrationMismatch` where the key is that of the model of which the backend has a
    tuned copy: what to do about that is easily said.
    """
    identity = dict(backend.identity)
    source = identity.pop("tuned_from", None)
    if source is not None and key == key_for(_Source({**identity, "model_sha256": source})):
        raise CalibrationMismatch(
            "the threshold file was made with the weights as downloaded, and a tuned copy of "
            "them answers here, so its promise does not hold",
            hint="give --no-tune (VEDETTE_TUNED=false), or calibrate again with the tuned copy",
        )


@dataclass(frozen=True, slots=True)
class _Source:
    """What a tuned copy was made from, as far as keys go."""

    identity: dict[str, Json]


def read_calibrations(path: str) -> Calibrations:
    """The file that `vedette calibrate` wrote. Raises `FileError` for any other."""
    return threshold_file.read(path, FORMAT, _parse, hint="vedette calibrate writes one")


def calibrations_of(content: Mapping[str, Any]) -> Calibrations:
    """The same from what such a file holds. Raises `InputError` for anything else."""
    hint = "give what a file of vedette calibrate holds"
    return threshold_file.of_content(content, FORMAT, _parse, hint)


def _parse(data: Mapping[str, Any]) -> Calibrations:
    questions = {name: calibration_of(one) for name, one in data["questions"].items()}
    return Calibrations(str(data["task"]), str(data["made_for"]), questions)
