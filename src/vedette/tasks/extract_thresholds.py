"""How sure the model was of an object that it wrote, and from where on such objects are kept."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from vedette.backends.base import Identified
from vedette.decide.calibration import Promise
from vedette.decide.risk import Threshold
from vedette.errors import CalibrationMismatch, CapabilityMissing
from vedette.types import Completion, Json

from . import threshold_file
from .calibrations import KeyFor, refuse_source

FORMAT = "vedette-extract-thresholds-1"
DIGITS = 6


def confidence_of(completions: Sequence[Completion]) -> float:
    """The probability of all that the schema left open, together, as the model saw it, in [0, 1].

    That is the product over the tokens that were chosen; forced ones say nothing of how sure the
    model was. It is 0 where an answer was brought to an end early: what is missing has no
    probability. Raises `CapabilityMissing` for a backend that tells no log-probabilities.
    """
    if any(completion.cut for completion in completions):
        return 0.0
    if not all(completion.logprobs for completion in completions):
        raise CapabilityMissing(
            "a confidence takes the log-probabilities of an answer's tokens, and this backend "
            "tells none",
            hint="use --backend local, or llama-server:URL",
        )
    total = math.fsum(
        token.logprob
        for completion in completions
        for token in completion.logprobs
        if not token.forced
    )
    return round(math.exp(total), DIGITS)


@dataclass(frozen=True, slots=True)
class ExtractThresholds:
    """Which objects are kept: those with a confidence over the threshold; None keeps nothing.

    `key` binds it to the schema, the prompt and the model, `n_rows` is how many labelled rows it
    was found on.
    """

    key: str
    promise: Promise
    threshold: Threshold | None
    n_rows: int

    def keeps(self, confidence: float) -> bool:
        """Whether the promise covers an object of which the model was so sure."""
        return self.threshold is not None and confidence > self.threshold.above

    def check(self, key_for: KeyFor, backend: Identified) -> None:
        """Raises `CalibrationMismatch` unless it was made for this schema, prompt and model.

        `key_for` makes the key of a backend.
        """
        if self.key != key_for(backend):
            refuse_source(self.key, key_for, backend)
            raise CalibrationMismatch(
                "the threshold file was made for another model, schema or prompt, so its promise "
                "does not hold here",
                hint="calibrate again with this model, this schema and these example rows",
            )

    @property
    def identity(self) -> Json:
        """What an answer depends on."""
        return threshold_file.hash_of(self.as_dict())

    def as_dict(self) -> dict[str, Json]:
        """The file's content."""
        return {
            "format": FORMAT,
            "made_for": self.key,
            "promise": asdict(self.promise),
            "threshold": None if self.threshold is None else asdict(self.threshold),
            "n_rows": self.n_rows,
        }

    def write(self, path: str) -> None:
        """Write the file, whole or not at all. Raises `FileError`."""
        threshold_file.write(path, self.as_dict())


def read_extract_thresholds(path: str) -> ExtractThresholds:
    """The file that `vedette calibrate extract` wrote. Raises `FileError` for any other."""
    hint = "vedette calibrate extract writes one"
    return threshold_file.read(path, FORMAT, _parse, hint)


def extract_thresholds_of(content: Mapping[str, Any]) -> ExtractThresholds:
    """The same from what such a file holds. Raises `InputError` for anything else."""
    hint = "give what a file of vedette calibrate extract holds"
    return threshold_file.of_content(content, FORMAT, _parse, hint)


def _parse(data: Mapping[str, Any]) -> ExtractThresholds:
    threshold = data["threshold"]
    return ExtractThresholds(
        key=str(data["made_for"]),
        promise=Promise(**data["promise"]),
        threshold=None if threshold is None else Threshold(**threshold),
        n_rows=int(data["n_rows"]),
    )
