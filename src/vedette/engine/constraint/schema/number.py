"""Numbers: bounds, integers, multiples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, lcm
from typing import TYPE_CHECKING, Any

import orjson

from . import probe
from .facts import Fact
from .values import spelled

if TYPE_CHECKING:
    from .lower import Lowering

Bound = tuple[int | float, bool]  # the value, and whether it is itself excluded
_INT64 = 2**63 - 1024  # beyond, doubles meet the end of the range
_MAX_EXCLUDED = 8


@dataclass(frozen=True, slots=True)
class NumberShape:
    """All numbers between two bounds; only integers, only multiples, where that is said."""

    low: Bound | None = None
    high: Bound | None = None
    integer: bool = False
    multiple: Fraction | None = None

    @property
    def empty(self) -> bool:
        """No number is of this shape."""
        if self.low is None or self.high is None:
            return False
        low, high = _exact(self.low[0]), _exact(self.high[0])
        if self.integer:
            least = floor(low) + 1 if self.low[1] else ceil(low)
            most = ceil(high) - 1 if self.high[1] else floor(high)
            if least > most:
                return True
        open_end = self.low[1] or self.high[1]
        if low > high or (low == high and open_end):
            return True
        if self.multiple is None:
            return False
        step = _common(self.multiple, 1) if self.integer else self.multiple
        first = ceil(low / step) * step
        if first == low and self.low[1]:
            first += step
        return first > high or (first == high and self.high[1])

    def schema(self) -> dict[str, Any]:
        """The shape as a JSON Schema."""
        out: dict[str, Any] = {"type": "integer" if self.integer else "number"}
        if self.low is not None:
            out["exclusiveMinimum" if self.low[1] else "minimum"] = self.low[0]
        if self.high is not None:
            out["exclusiveMaximum" if self.high[1] else "maximum"] = self.high[0]
        if self.multiple is not None:
            whole = self.multiple.denominator == 1
            out["multipleOf"] = int(self.multiple) if whole else float(self.multiple)
        return out


def build(facts: list[Fact], integer: bool, lowering: Lowering) -> list[NumberShape]:
    """The shapes of the numbers for which all these facts hold."""
    shape = NumberShape(integer=integer)
    excluded: list[tuple[int | float, Fact]] = []
    for fact in facts:
        if fact.name == "low" and _keeps(fact, integer, lowering):
            shape = replace(shape, low=_tighter(shape.low, fact.value, 1))
        elif fact.name == "high" and _keeps(fact, integer, lowering):
            shape = replace(shape, high=_tighter(shape.high, fact.value, -1))
        elif fact.name == "multiple":
            shape = replace(shape, multiple=_common(shape.multiple, fact.value))
        elif fact.name == "exclude":
            excluded += [(v, fact) for v in fact.value if _is_number(v)]
    shape = _settled(shape, facts, lowering)
    shapes = [shape]
    for value, fact in excluded:
        if len(excluded) > _MAX_EXCLUDED or abs(value) > _INT64 or not probe.exact_bound(value):
            lowering.drop(fact, "numbers cannot be left out one by one here")
        else:
            shapes = [half for one in shapes for half in _around(one, value)]
    shapes = [one for one in shapes if not one.empty]
    for fact in facts:
        if any(_slips(one, fact) for one in shapes):
            lowering.drop(fact, "the engine lets the bound itself through in so narrow a range")
    return shapes


def _exact(value: int | float) -> Fraction:
    """The number that was written, not the double next to it."""
    return Fraction(Decimal(repr(value)))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _keeps(fact: Fact, integer: bool, lowering: Lowering) -> bool:
    value = fact.value[0]
    if probe.exact_bound(value) or (integer and abs(value) <= _INT64):
        return True
    lowering.drop(fact, f"the bound {value} is beyond what the grammar holds exactly")
    return False


def _tighter(old: Bound | None, new: Bound, sign: int) -> Bound:
    if old is None:
        return new
    return max(old, new, key=lambda bound: (sign * _exact(bound[0]), bound[1]))


def _common(old: Fraction | None, factor: int | float) -> Fraction:
    new = _exact(factor)
    if old is None:
        return new
    return Fraction(
        lcm(old.numerator * new.denominator, new.numerator * old.denominator),
        old.denominator * new.denominator,
    )


def _settled(shape: NumberShape, facts: list[Fact], lowering: Lowering) -> NumberShape:
    """The shape without what the engine cannot compile."""
    if shape.empty or not (shape.low or shape.high or shape.multiple):
        return shape
    if shape.multiple and max(shape.multiple.numerator, shape.multiple.denominator) > _INT64:
        why = "the divisor is beyond what it holds exactly"
    else:
        why = probe.refusal(shape.schema())
    if not why or "nsatisfiable" in why:
        return shape
    for fact in facts:
        if fact.name in ("low", "high", "multiple"):
            lowering.drop(fact, f"the grammar does not take this range: {why[:100]}")
    return NumberShape(integer=shape.integer)


def _slips(shape: NumberShape, fact: Fact) -> bool:
    """Whether the engine can write a bound that this fact excludes (llguidance 1.9.1 does)."""
    bounds = [bound[0] for bound in (shape.low, shape.high) if bound is not None and bound[1]]
    if fact.name in ("low", "high"):
        bounds = [bound for bound in bounds if fact.value == (bound, True)]
    elif fact.name == "exclude":
        bounds = [bound for bound in bounds if bound in fact.value]
    else:
        return False
    if not bounds or shape.integer:
        return False
    texts = tuple(text for bound in bounds for text in _spellings(bound))
    return probe.takes_any(orjson.dumps(shape.schema()), texts)


def _spellings(value: int | float) -> tuple[str, ...]:
    plain = spelled(value)
    return (plain, f"{plain}0" if "." in plain else f"{plain}.0")


def _around(shape: NumberShape, value: int | float) -> list[NumberShape]:
    """The shape without one number, as what is below and what is above it."""
    below = replace(shape, high=_tighter(shape.high, (value, True), -1))
    above = replace(shape, low=_tighter(shape.low, (value, True), 1))
    halves = [below, above]
    return [shape] if shape in halves else halves
