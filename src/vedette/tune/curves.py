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
CLEARLY = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """`tokens`: n tokens of one sequence, with the logits of each. `sequences`: n of one each."""

    tokens: CostCurve
    sequences: CostCurve


def curves_of(probe: Probe, sizes: Sequence[int], seconds: float) -> Curves:
    """Measure every size in turn for about `seconds`, but three times at least.

    A size's time is the fastest of its visits, each a median of steps: other work on the machine
    only ever makes a step slower.
    """
    visits: list[tuple[Callable[[int, float], float], dict[int, float]]] = [
        (probe.tokens, {}),
        (probe.sequences, {}),
    ]
    visit_s = seconds / (LEAST_ROUNDS * len(visits) * len(sizes))
    deadline = time.perf_counter() + seconds
    rounds = 0
    while rounds < LEAST_ROUNDS or time.perf_counter() < deadline:
        for n in sizes:
            for visit, best in visits:
                best[n] = min(best.get(n, float("inf")), visit(n, visit_s) / 1000)
        rounds += 1
    tokens, sequences = (CostCurve.of(best) for _, best in visits)
    return Curves(tokens=tokens, sequences=sequences)


def paddings(curve: CostCurve) -> list[tuple[int, int]]:
    """The sizes for which a larger step is clearly faster, each with that larger one."""
    pads = [(n, curve.padded(n)) for n, _ in curve.points]
    return [
        (n, size) for n, size in pads if curve.seconds(size) <= (1 - CLEARLY) * curve.seconds(n)
    ]
