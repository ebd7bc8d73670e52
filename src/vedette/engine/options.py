"""How an engine is set up."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from vedette.errors import InputError
from vedette.types import Request

from .curve import CostCurve
from .llama.context import KV_TYPES
from .speculation.policy import Policy

MOST_TOP_LOGPROBS = 20
"""As in OpenAI's API."""


def usable_cores() -> int:
    """Physical cores that this process may use."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    physical = psutil.cpu_count(logical=False) or allowed
    return max(1, min(allowed or 1, physical or 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """Settings of one engine.

    `width` sequences are answered at once. `cells` is the KV cache to begin with; it grows up to
    `max_context_tokens` (None: what the model was trained for and the memory holds).
    `use_forced` and `share_prefixes` exist to be switched off for comparison. `speculate` says who
    guesses tokens (see `speculation.policy.Policy`), `draft` is the file of a smaller model of
    the same vocabulary that may, `curve` what a step is known to take. `mmproj` is the file of the
    model's vision projector.
    """

    width: int = 8
    cells: int = 8192
    max_context_tokens: int | None = None
    batch_tokens: int = 256
    n_seq: int = 48
    n_outputs: int = 64
    threads: int = field(default_factory=usable_cores)
    kv_type: str = "f16"
    max_queue: int = 100_000
    use_forced: bool = True
    share_prefixes: bool = True
    speculate: str = "auto"
    draft: Path | None = None
    curve: CostCurve | None = None
    mmproj: Path | None = None

    def __post_init__(self) -> None:
        for name in ("width", "cells", "batch_tokens", "threads", "max_queue"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.kv_type not in KV_TYPES:
            raise InputError(f"kv_type must be one of {', '.join(KV_TYPES)}, not {self.kv_type!r}")
        Policy.of(self.speculate)
        if self.n_seq < self.width + 8:
            object.__setattr__(self, "n_seq", self.width + 8)
        if self.n_outputs < self.n_seq:
            object.__setattr__(self, "n_outputs", self.n_seq)


def check_request(request: Request) -> None:
    """Raise `InputError` for numbers that no answer can be made with."""
    sampling = request.sampling
    if request.max_tokens < 1:
        raise InputError(f"max_tokens must be at least 1, not {request.max_tokens}")
    for name, value, low, high in (
        ("temperature", sampling.temperature, 0.0, math.inf),
        ("top_p", sampling.top_p, 0.0, 1.0),
        ("min_p", sampling.min_p, 0.0, 1.0),
        ("top_k", sampling.top_k, 0, math.inf),
        ("repeat_last_tokens", sampling.repeat_last_tokens, 0, math.inf),
    ):
        if not low <= value <= high:  # NaN is in no range
            raise InputError(f"{name} must be from {low} to {high}, not {value}")
    for name, value, most in (
        ("presence_penalty", sampling.presence_penalty, 2.0),
        ("frequency_penalty", sampling.frequency_penalty, 2.0),
        *((f"logit_bias of token {token}", bias, 100.0) for token, bias in sampling.logit_bias),
    ):
        if not -most <= value <= most:
            raise InputError(f"{name} must be from {-most:g} to {most:g}, not {value}")
    if len({token for token, _ in sampling.logit_bias}) < len(sampling.logit_bias):
        raise InputError("logit_bias names a token twice")
    if request.top_logprobs and not request.logprobs:
        raise InputError("top_logprobs goes with logprobs")
    if not 0 <= request.top_logprobs <= MOST_TOP_LOGPROBS:
        raise InputError(
            f"top_logprobs must be from 0 to {MOST_TOP_LOGPROBS}, not {request.top_logprobs}"
        )
    if not 0 < sampling.repeat_penalty < math.inf:
        raise InputError(f"repeat_penalty must be positive, not {sampling.repeat_penalty}")
