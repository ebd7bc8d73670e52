"""T(n) of a model: how long a step takes, by the tokens of one sequence and by sequences."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vedette.doctor.probe import Probe
from vedette.engine.curve import CostCurve

MOST = 32
SIZES = (*range(1, 17), 18, 20, 22, 24, 26, 28, 30, 32)
FEW_SIZES = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32)
LEAST_ROUNDS = 3
LOOKS_AGAIN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """`tokens`: n tokens of one sequence, with the logits of each. `sequences`: n of one each."""

    tokens: CostCurve
    sequences: CostCurve


def curves_of(probe: Probe, sizes: Sequence[int], seconds: float) -> Curves:
    """Measure every size in turn for about `seconds`, but three times at least.

    A size's time is that of its fastest step: other work on the machine only ever makes a step
    slower. A size that seems slower than a larger one is looked at again, as that decides
    something: it may only have been disturbed.
    """
    visit_s = seconds / (LEAST_ROUNDS * 2 * len(sizes))
    tokens, sequences = _Best(probe.tokens, visit_s), _Best(probe.sequences, visit_s)
    deadline = time.perf_counter() + seconds
    rounds = 0
    while rounds < LEAST_ROUNDS or time.perf_counter() < deadline:
        for n in sizes:
            tokens.visit(n)
            sequences.visit(n)
        rounds += 1
    for _ in range(LOOKS_AGAIN):
        for best in (tokens, sequences):
            for n, _larger in paddings(best.curve):
                best.visit(n)
    return Curves(tokens=tokens.curve, sequences=sequences.curve)


class _Best:
    """The fastest step of each size so far."""

    def __init__(self, steps_of: Callable[[int, float], list[float]], visit_s: float) -> None:
        self._steps_of = steps_of
        self._visit_s = visit_s
        self._seconds: dict[int, float] = {}

    def visit(self, n: int) -> None:
        fastest = min(self._steps_of(n, self._visit_s)) / 1000
        self._seconds[n] = min(self._seconds.get(n, fastest), fastest)

    @property
    def curve(self) -> CostCurve:
        return CostCurve.of(self._seconds)


def paddings(curve: CostCurve) -> list[tuple[int, int]]:
    """The sizes for which a larger step is clearly faster, each with that larger one."""
    pads = [(n, curve.padded(n)) for n, _ in curve.points]
    return [(n, size) for n, size in pads if size != n]
