"""The fitted numbers of the predictor, from a file that is data."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar

from pydantic import ConfigDict, PositiveFloat, TypeAdapter

_STRICT = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """What is fitted together on the published rows; the file says what each means."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    slope_recent: PositiveFloat
    slope_older: PositiveFloat
    slope_apple: PositiveFloat
    cpu_cores_per_token: PositiveFloat
    overhead: PositiveFloat
    range_weight: PositiveFloat
    draft_acceptance: PositiveFloat
    draft_acceptance_per_halving: PositiveFloat


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """Chances of a guess where the user gives none."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    head: PositiveFloat
    head_low: PositiveFloat
    head_high: PositiveFloat
    draft_spread: PositiveFloat
    copy: PositiveFloat


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """80% of measured speed-ups, as shares of predicted ones; how far memory is off either way."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    speedup_low: PositiveFloat
    speedup_high: PositiveFloat
    host_memory: PositiveFloat
    gpu_memory: PositiveFloat


@dataclass(frozen=True, slots=True, kw_only=True)
class Efficiency:
    """Shares of the stated bandwidth that reading weights reaches; seconds to start a layer."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    gpu_layer_s: PositiveFloat
    gpu: PositiveFloat
    gpu_low: PositiveFloat
    gpu_high: PositiveFloat
    cpu: PositiveFloat
    cpu_low: PositiveFloat
    cpu_high: PositiveFloat


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """All of them."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    fit: Fit
    acceptance: Acceptance
    interval: Interval
    efficiency: Efficiency


@cache
def parameters() -> Parameters:
    """Those that vedette comes with."""
    text = Path(__file__).with_name("parameters.toml").read_text(encoding="utf-8")
    return TypeAdapter(Parameters).validate_python(tomllib.loads(text))
