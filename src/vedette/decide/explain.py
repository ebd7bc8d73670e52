"""What moved a decision: the model's own odds, and what each correction made of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from vedette.types import Json

from .calibration import Calibration
from .closed import normalised


def explained(
    names: Sequence[str],
    logprobs: Sequence[float],
    log_prior: Sequence[float] | None,
    calibration: Calibration | None = None,
    in_reverse: Sequence[float] | None = None,
) -> dict[str, Json]:
    """Odds at each stage, as probabilities of `names`.

    `raw`: as scored. `prior`: what was divided out, or None; a calibration's own takes the place
    of `log_prior`. `temperature`: what the logarithms were divided by then. `raw_in_reverse`, only
    where it was asked: as scored with the options in reverse, which a model that goes by the words
    alone answers like `raw`.
    """
    if calibration is not None:
        log_prior = calibration.log_prior
    found: dict[str, Json] = {
        "raw": _shares(names, logprobs),
        "prior": None if log_prior is None else _shares(names, log_prior),
        "temperature": round(calibration.temperature, 4) if calibration else 1.0,
    }
    if in_reverse is not None:
        found["raw_in_reverse"] = _shares(names, in_reverse)
    return found


def _shares(names: Sequence[str], logprobs: Sequence[float]) -> dict[str, Json]:
    return {
        name: round(math.exp(value), 4)
        for name, value in zip(names, normalised(logprobs), strict=True)
    }
