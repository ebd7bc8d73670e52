"""T(n) as it is being measured: what a step of n tokens takes on this machine, now."""

from __future__ import annotations

from collections import deque
from statistics import median

from vedette.engine.curve import CostCurve

LATEST = 15
"""Of each size the median of so many steps counts."""
KNOWN = 3
"""A size of which so many steps were seen tells how fast the machine is just now."""
NOW, HICCUP = 0.3, 2.0
"""Weight of the newest step in that, and how many times as slow as before it is believed to be."""
SMALL_STEP, SMALL_COST = 8, 2.0
"""A token more of a step up to this size takes so many times one of a prompt, on processors."""
LARGE_STEP, OUTPUT_COST = 64, 1.2
"""The same on the way to this size: logits are wanted of it, as they are of guesses."""
OLD_STEPS = 16
"""After so many steps of other sizes a size should be measured again."""


class StepTimes:
    """Step times by size, learnt from the engine's own steps; `known` is the curve to begin with.

    A machine is slower for a while when others use it, and then for steps of all sizes alike. So
    what a size takes is kept in times of one size, and that one's time is followed closely.

    Only steps of which (nearly) all tokens have logits count as sizes, as guesses do; those of
    prompts say what a token more costs where no such step was seen yet.
    """

    def __init__(self, known: CostCurve | None = None) -> None:
        self._known = known
        # The size that others are told in times of, and what it takes now.
        self._unit_tokens, self._unit_s = (1, known.seconds(1)) if known else (0, 0.0)
        self._latest: dict[int, deque[float]] = {}
        self._relative: dict[int, float] = {1: 1.0} if known else {}
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
        self._curve = None
        if not self._unit_tokens:
            self._unit_tokens, self._unit_s, self._relative[n_tokens] = n_tokens, seconds, 1.0
            return
        latest = self._latest.setdefault(n_tokens, deque(maxlen=LATEST))
        if n_tokens == self._unit_tokens or len(latest) >= KNOWN:
            now_s = min(seconds / self._relative[n_tokens], HICCUP * self._unit_s)
            self._unit_s += NOW * (now_s - self._unit_s)
        if n_tokens != self._unit_tokens:
            latest.append(seconds / self._unit_s)
            self._relative[n_tokens] = median(latest)

    @property
    def now_s(self) -> float:
        """How fast the machine is just now: the seconds of a step of one certain size.

        0 where nothing is known yet.
        """
        return self._unit_s

    def is_old(self, n_tokens: int) -> bool:
        """Whether a step of this size should be made, to learn what it takes by now."""
        return self._n_steps - self._seen_at.get(n_tokens, 0) >= OLD_STEPS

    def curve(self) -> CostCurve | None:
        """The curve as far as it is known; None before the first step."""
        if self._curve is None and self._relative:
            self._curve = CostCurve.of(self._points())
        return self._curve

    def _points(self) -> dict[int, float]:
        seen = {n: times * self._unit_s for n, times in self._relative.items()}
        if self._known is None:
            return self._shape(seen) | seen
        scale = sum(seen.values()) / sum(self._known.seconds(n) for n in seen)
        return {n: seconds * scale for n, seconds in self._known.points} | seen

    def _shape(self, seen: dict[int, float]) -> dict[int, float]:
        """What may be expected of sizes that were not seen, by those that were."""
        first = min(seen)
        one_s = seen[first] / first**0.5
        token_s = self._prompt_token_s or one_s
        small_s = one_s + (SMALL_STEP - 1) * SMALL_COST * token_s
        points = {1: one_s}
        if first < SMALL_STEP:
            points[SMALL_STEP] = small_s
        last = max(*seen, SMALL_STEP)
        large = max(LARGE_STEP, last + 32)
        points[large] = seen.get(last, small_s) + (large - last) * OUTPUT_COST * token_s
        return points
