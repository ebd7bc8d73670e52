"""What a constraint costs: its compilation, and a mask for each token of a valid answer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from vedette.engine.constraint.matcher import MaskTable, Matcher
from vedette.engine.constraint.schema import SchemaMatcher
from vedette.engine.constraint.schema.values import spelled
from vedette.engine.core import EngineCore
from vedette.errors import ConstraintFailed
from vedette.types import Constraint, Json

from .constrained_match import Accepts
from .constrained_suite import SchemaCase

WARM_UP = Constraint("json_schema", '{"type":"null"}')


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
    """Times the schemas that it is asked about on one engine's vocabulary.

    `compile_ms`, `again_ms` (from the cache) and `mask_us` are lists of single times; `bounded`
    counts valid instances that the default bounds do not let through.
    """

    def __init__(self, engine: EngineCore) -> None:
        self._engine = engine
        self._compiler = engine.compiler  # the vocabulary's own setup is not a schema's cost
        self._masks = MaskTable(1, engine.model.n_vocab)
        self.compile_ms: list[float] = []
        self.again_ms: list[float] = []
        self.mask_us: list[float] = []
        self.bounded = 0
        self._known: set[Constraint] = set()
        self._timed(WARM_UP)

    def taken(self, case: SchemaCase) -> Accepts:
        """How instances of a schema are judged. It is compiled and its valid ones are walked.

        Raises `InputError` for a schema that cannot be compiled.
        """
        grammar, first_ms = self._timed(case.constraint)  # before any other look at the schema
        if case.constraint not in self._known:
            self.compile_ms.append(first_ms)
        self._known.add(case.constraint)
        self.again_ms.append(self._timed(case.constraint)[1])
        matcher = SchemaMatcher(case.schema, formats=case.formats)
        for instance in case.instances:
            if instance.valid and matcher.accepts(instance.value):
                arranged = matcher.analysis.arranger.arranged(instance.value)
                self.bounded += not self._walks(grammar, arranged)
                grammar.restart(())
        return matcher.accepts

    def _timed(self, constraint: Constraint) -> tuple[Matcher, float]:
        started = time.perf_counter()
        matcher = self._compiler.matcher(constraint)
        return matcher, (time.perf_counter() - started) * 1000

    def _walks(self, grammar: Matcher, value: Json) -> bool:
        """Time each mask on the way through a value, as a model would write it.

        False where the bounds that endless things get do not let it through.
        """
        for token in self._engine.model.tokenize(spelled(value)):
            started = time.perf_counter_ns()
            self._masks.fill([grammar])
            self.mask_us.append((time.perf_counter_ns() - started) / 1000)
            try:
                grammar.check()
                grammar.accept(token)
            except ConstraintFailed:
                return False
        return grammar.may_end
