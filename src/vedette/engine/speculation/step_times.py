"""T(n) as it is being measured: what a step of n tokens takes on this machine, now."""

from __future__ import annotations

from collections import deque
from statistics import median

from vedette.engine.curve import CostCurve

LATEST = 9
"""Of each size the median of so many steps counts: the first ones and hiccups are no measure."""
SMALL_STEP, SMALL_COST = 8, 2.0
"""A token more of a step up to this size takes so many times one of a prompt, on processors."""
LARGE_STEP, OUTPUT_COST = 64, 1.2
"""The same on the way to this size: logits are wanted of it, as they are of guesses."""
OLD_STEPS = 32
"""After so many steps of other sizes a size should be measured again."""


class StepTimes:
    """Step times by size, learnt from the engine's own steps; `known` is the curve to begin with.

    Only steps of which (nearly) all tokens have logits count as sizes, as guesses do; those of
    prompts say what a token more costs where no such step was seen yet.
    """

    def __init__(self, known: CostCurve | None = None) -> None:
        self._known = known
        self._latest: dict[int, deque[float]] = {}
        self._seconds: dict[int, float] = {}
        self._seen_at: dict[int, int] = {}
        self._n_steps = 0
        self._prompt_token_s: float | None = None
        self._curve: CostCurve | None = known

    def add(self, n_tokens: int, n_outputs: int, seconds: float) -> None:
        """Learn from a step."""
        if n_outputs < 0.9 * n_tokens:
            if n_tokens >= 32:
                self._prompt_token_s = seconds / n_tokens
            return
        self._n_steps += 1
        self._seen_at[n_tokens] = self._n_steps
        latest = self._latest.setdefault(n_tokens, deque(maxlen=LATEST))
        latest.append(seconds)
        self._seconds[n_tokens] = median(latest)
        self._curve = None

    def is_old(self, n_tokens: int) -> bool:
        """Whether a step of this size should be made, to learn what it takes by now."""
        return self._n_steps - self._seen_at.get(n_tokens, 0) >= OLD_STEPS

    def curve(self) -> CostCurve | None:
        """The curve as far as it is known; None before the first step."""
        if self._curve is None and self._seconds:
            self._curve = CostCurve.of(self._points())
        return self._curve

    def _points(self) -> dict[int, float]:
        if self._known is not None:
            measured = sum(self._seconds.values())
            scale = measured / sum(self._known.seconds(n) for n in self._seconds)
            points = {n: seconds * scale for n, seconds in self._known.points}
        else:
            points = self._shape()
        return points | self._seconds

    def _shape(self) -> dict[int, float]:
        """What may be expected before a size was seen, by the least one that was."""
        first = min(self._seconds)
        one_s = self._seconds[first] / first**0.5
        token_s = self._prompt_token_s or one_s
        small_s = one_s + (SMALL_STEP - 1) * SMALL_COST * token_s
        points = {1: one_s}
        if first < SMALL_STEP:
            points[SMALL_STEP] = small_s
        last = max(*self._seconds, SMALL_STEP)
        large = max(LARGE_STEP, last + 32)
        last_s = self._seconds.get(last, small_s)
        points[large] = last_s + (large - last) * OUTPUT_COST * token_s
        return points
