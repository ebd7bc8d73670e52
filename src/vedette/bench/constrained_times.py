"""What a constraint costs: its compilation, and a mask for each token of a valid answer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from vedette.engine.constraint.matcher import MaskTable
from vedette.engine.constraint.schema import SchemaMatcher
from vedette.engine.constraint.schema.values import spelled
from vedette.engine.core import EngineCore
from vedette.errors import ConstraintFailed
from vedette.types import Constraint, Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles:
    """The middle of so many numbers, the one that 99% do not exceed, and the largest."""

    count: int
    p50: float
    p99: float
    max: float


def quantiles(values: Sequence[float]) -> Quantiles | None:
    """None of no numbers. The 99th of 100 is `p99`; of fewer than 100 it is the largest."""
    if not values:
        return None
    ordered = sorted(values)
    rank = -(-99 * len(ordered) // 100)  # the nearest rank, rounded up
    middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
    return Quantiles(count=len(ordered), p50=middle, p99=ordered[rank - 1], max=ordered[-1])


class Clock:
    """Times constraints on one engine's vocabulary."""

    def __init__(self, engine: EngineCore) -> None:
        self._engine = engine
        self._compiler = engine.compiler  # the vocabulary's own setup is not a schema's cost
        self._masks = MaskTable(1, engine.model.n_vocab)

    def compile_ms(self, constraint: Constraint) -> float:
        """Milliseconds from the schema's text to a matcher that is ready.

        Only right for a constraint that this engine has not compiled yet. Raises `InputError` for
        one that cannot be compiled.
        """
        started = time.perf_counter()
        self._compiler.matcher(constraint)
        return (time.perf_counter() - started) * 1000

    def mask_us(self, constraint: Constraint, matcher: SchemaMatcher, value: Json) -> list[float]:
        """Microseconds of each mask on the way through a valid value, as a model would write it.

        Ends early where the bounds that endless things get do not let the value through.
        """
        grammar = self._compiler.matcher(constraint)
        text = spelled(matcher.analysis.arranger.arranged(value))
        times = []
        for token in self._engine.model.tokenize(text):
            started = time.perf_counter_ns()
            self._masks.fill([grammar])
            times.append((time.perf_counter_ns() - started) / 1000)
            try:
                grammar.check()
                grammar.accept(token)
            except ConstraintFailed:
                return times
        return times
