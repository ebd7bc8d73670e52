"""What a measurement found, as plain numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Steps of `tokens` tokens each: median time, and how far the repeats lay apart.

    `spread` is (slowest - fastest) / median; 0 for a single repeat.
    """

    tokens: int
    step_ms: float
    tokens_per_s: float
    spread: float
    repeats: int

    @classmethod
    def of(cls, tokens: int, repeats_ms: Sequence[float]) -> Pace:
        """The pace of these repeats; there is at least one, each longer than 0 ms."""
        step_ms = median(repeats_ms)
        return cls(
            tokens=tokens,
            step_ms=step_ms,
            tokens_per_s=1000 * tokens / step_ms,
            spread=(max(repeats_ms) - min(repeats_ms)) / step_ms,
            repeats=len(repeats_ms),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """Of one model. `decode` has a pace for each width that the time was enough for, in order."""

    description: str
    threads: int
    load_s: float
    prompt_tokens: int
    prefill: Pace
    decode: tuple[Pace, ...]


def fitting_prompt_tokens(
    warm_tokens: int, warm_ms: float, visit_ms: float, most_tokens: int
) -> int:
    """The longest prompt, in doublings of `warm_tokens`, that a visit has time for."""
    n = warm_tokens
    while 2 * n <= most_tokens and warm_ms * 2 * n / warm_tokens <= visit_ms:
        n *= 2
    return n
