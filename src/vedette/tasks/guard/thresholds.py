"""A threshold for each policy that flags at most a given share of harmless texts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from vedette.decide.false_positives import FlagThreshold
from vedette.errors import CalibrationMismatch, FileError
from vedette.models.atomic import write_json
from vedette.types import Json

FORMAT = "vedette-guard-thresholds-1"


@dataclass(frozen=True, slots=True)
class GuardThresholds:
    """The threshold of each policy. `key` binds them to the policies and the model."""

    key: str
    policies: Mapping[str, FlagThreshold]

    def check(self, key: str) -> None:
        """Raises `CalibrationMismatch` unless they were made for these policies and this model."""
        if self.key != key:
            raise CalibrationMismatch(
                "the threshold file was made for another model, other policies or another text of "
                "theirs, so its promise does not hold here",
                hint="calibrate again: vedette guard --calibrate-on FILE --out FILE",
            )

    @property
    def identity(self) -> Json:
        """What an answer depends on."""
        return hashlib.sha256(orjson.dumps(self.as_dict())).hexdigest()

    def as_dict(self) -> dict[str, Json]:
        """The file's content."""
        policies: dict[str, Json] = {name: asdict(one) for name, one in self.policies.items()}
        return {"format": FORMAT, "made_for": self.key, "policies": policies}

    def write(self, path: str) -> None:
        """Write the file, whole or not at all. Raises `FileError`."""
        try:
            write_json(Path(path), self.as_dict())
        except OSError as error:
            raise FileError(f"cannot write {path}: {error.strerror}") from error


def read_thresholds(path: str) -> GuardThresholds:
    """The file that `vedette guard --calibrate-on` wrote. Raises `FileError` for any other."""
    try:
        data = orjson.loads(Path(path).read_bytes())
    except OSError as error:
        raise FileError(f"cannot read the threshold file {path}: {error.strerror}") from error
    except orjson.JSONDecodeError as error:
        raise FileError(f"the threshold file {path} is not JSON: {error.msg}") from error
    try:
        if data["format"] != FORMAT:
            raise ValueError(f"its format is {data['format']!r}, not {FORMAT!r}")
        policies = {name: FlagThreshold(**one) for name, one in data["policies"].items()}
        return GuardThresholds(str(data["made_for"]), policies)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise FileError(
            f"{path} is no threshold file of the guard: {reason}",
            hint="vedette guard --calibrate-on FILE --out FILE writes one",
        ) from error
