"""A threshold for each policy that flags at most a given share of harmless texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from vedette.backends.base import Identified
from vedette.decide.false_positives import FlagThreshold
from vedette.errors import CalibrationMismatch
from vedette.tasks import threshold_file
from vedette.tasks.calibrations import KeyFor, refuse_source
from vedette.types import Json

FORMAT = "vedette-guard-thresholds-1"


@dataclass(frozen=True, slots=True)
class GuardThresholds:
    """The threshold of each policy. `key` binds them to the policies and the model."""

    key: str
    policies: Mapping[str, FlagThreshold]

    def check(self, key_for: KeyFor, backend: Identified) -> None:
        """Raises `CalibrationMismatch` unless they were made for these policies and this model.

        `key_for` makes the key of a backend.
        """
        if self.key != key_for(backend):
            refuse_source(self.key, key_for, backend)
            raise CalibrationMismatch(
                "the threshold file was made for another model, other policies or another text of "
                "theirs, so its promise does not hold here",
                hint="calibrate again: vedette guard --calibrate-on FILE --out FILE",
            )

    @property
    def identity(self) -> Json:
        """What an answer depends on."""
        return threshold_file.hash_of(self.as_dict())

    def as_dict(self) -> dict[str, Json]:
        """The file's content."""
        policies: dict[str, Json] = {name: asdict(one) for name, one in self.policies.items()}
        return {"format": FORMAT, "made_for": self.key, "policies": policies}

    def write(self, path: str) -> None:
        """Write the file, whole or not at all. Raises `FileError`."""
        threshold_file.write(path, self.as_dict())


def read_thresholds(path: str) -> GuardThresholds:
    """The file that `vedette guard --calibrate-on` wrote. Raises `FileError` for any other."""
    hint = "vedette guard --calibrate-on FILE --out FILE writes one"
    return threshold_file.read(path, FORMAT, _parse, hint)


def thresholds_of(content: Mapping[str, Any]) -> GuardThresholds:
    """The same from what such a file holds. Raises `InputError` for anything else."""
    hint = "give what a file of vedette guard --calibrate-on holds"
    return threshold_file.of_content(content, FORMAT, _parse, hint)


def _parse(data: Mapping[str, Any]) -> GuardThresholds:
    policies = {name: FlagThreshold(**one) for name, one in data["policies"].items()}
    return GuardThresholds(str(data["made_for"]), policies)
