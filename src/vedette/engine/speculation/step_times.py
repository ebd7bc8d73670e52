"""T(n) as it is being measured: what a step of n tokens takes on this machine, now."""

from __future__ import annotations

from vedette.engine.curve import CostCurve

NEWEST = 0.2
"""Weight of the newest step of a size, once there were five of them."""
HICCUP = 2.0
"""A step is believed to be at most so many times as slow as its size is known to be."""
OUTPUT_COST = 1.2
"""A token whose logits are wanted takes about so much more than one of a prompt."""


class StepTimes:
    """Step times by size, learnt from the engine's own steps; `known` is the curve to begin with.

    Only steps of which (nearly) all tokens have logits count as sizes, as guesses do; those of
    prompts say what a token more costs where no such step was seen yet.
    """

    def __init__(self, known: CostCurve | None = None) -> None:
        self._known = known
        self._seconds: dict[int, float] = {}
        self._n_seen: dict[int, int] = {}
        self._prompt_token_s: float | None = None
        self._curve: CostCurve | None = known

    @property
    def is_known(self) -> bool:
        """Whether anything can be said yet."""
        return self._curve is not None

    def add(self, n_tokens: int, n_outputs: int, seconds: float) -> None:
        """Learn from a step."""
        if n_outputs < 0.9 * n_tokens:
            if n_tokens >= 32:
                self._prompt_token_s = seconds / n_tokens
            return
        n_seen = self._n_seen[n_tokens] = self._n_seen.get(n_tokens, 0) + 1
        before = self._seconds.get(n_tokens, seconds)
        weight = max(NEWEST, 1 / n_seen)
        self._seconds[n_tokens] = before + weight * (min(seconds, HICCUP * before) - before)
        self._curve = None

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
            first = min(self._seconds)
            points = {1: self._seconds[first] / first**0.5}
            last = max(self._seconds)
            token_s = (self._prompt_token_s or points[1]) * OUTPUT_COST
            points[max(64, last + 32)] = self._seconds[last] + token_s * max(64 - last, 32)
        return points | self._seconds
