"""Arrays: what stands where, how many, how many of a sort, each once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from .choices import choices
from .facts import ANY, NEVER, Contains, Elements, Fact, Node
from .values import ValuesShape, key

if TYPE_CHECKING:
    from .lower import Lowering

REACH = 6  # an element that must be somewhere is put among the first so many
_MAX_CASES = 64
_MAX_LISTED = 400


@dataclass(frozen=True, slots=True)
class ArrayShape:
    """Arrays with a node for each of the first elements and one for all that follow."""

    first: tuple[Node, ...] = ()
    rest: Node = ANY
    least: int = 0
    most: int | None = None

    def at(self, index: int) -> Node:
        """The node of an element."""
        return self.first[index] if index < len(self.first) else self.rest

    def settled(self, lowering: Lowering) -> ArrayShape | None:
        """The shape cut off where nothing can stand; None if no array is of it."""
        most = self.most
        if lowering.is_empty(self.rest):
            most = len(self.first) if most is None else min(most, len(self.first))
        for index, element in enumerate(self.first):
            if (most is None or index < most) and lowering.is_empty(element):
                most = index
        if most is not None and self.least > most:
            return None
        first = self.first if most is None else self.first[:most]
        rest = NEVER if most is not None and most <= len(first) else self.rest
        return ArrayShape(first, rest, self.least, most)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes of all elements."""
        return (*self.first, self.rest)


def build(facts: list[Fact], lowering: Lowering) -> list[ArrayShape | ValuesShape]:
    """The shapes of the arrays for which all these facts hold."""
    shape = ArrayShape()
    for fact in facts:
        if fact.name == "least":
            shape = replace(shape, least=max(shape.least, int(fact.value)))
        elif fact.name == "most":
            most = int(fact.value)
            shape = replace(shape, most=most if shape.most is None else min(shape.most, most))
        elif fact.name == "elements":
            shape = _with_elements(shape, fact.value)
        elif fact.name == "exclude" and [] in fact.value:
            shape = replace(shape, least=max(shape.least, 1))
        if fact.name == "exclude" and any(isinstance(v, list) and v for v in fact.value):
            lowering.drop(fact, "an array cannot be left out of all arrays")
    shapes = [shape]
    for fact in facts:
        if fact.name == "contains":
            shapes = [c for one in shapes for c in _with_contained(one, fact, lowering)]
    settled = [one.settled(lowering) for one in shapes]
    out: list[ArrayShape | ValuesShape] = [one for one in settled if one is not None]
    for fact in facts:
        if fact.name == "unique":
            out = [_unique(one, fact, lowering) for one in out]
    return [one for one in out if not isinstance(one, ValuesShape) or one.texts]


def _with_elements(shape: ArrayShape, elements: Elements) -> ArrayShape:
    length = max(len(shape.first), len(elements.first))
    other = ArrayShape(elements.first, elements.rest)
    first = tuple(shape.at(n) | other.at(n) for n in range(length))
    return replace(shape, first=first, rest=shape.rest | other.rest)


def _with_contained(shape: ArrayShape, fact: Fact, lowering: Lowering) -> list[ArrayShape]:
    """One shape per choice of the places at which the matching elements stand."""
    wanted: Contains = fact.value
    if wanted.most is not None and wanted.most < wanted.least:
        return []
    no_match = lowering.negated(wanted.match)
    if wanted.most == 0:
        return [_with_elements(shape, Elements((), no_match))]
    if wanted.least == 0 and wanted.most is None:
        return [shape]
    ends = shape.most
    reach = max(REACH, len(shape.first) + wanted.least)
    reach = reach if ends is None else min(ends, reach)
    sizes = range(wanted.least, min(wanted.most or wanted.least, reach) + 1)
    places = choices(range(reach), sizes, _MAX_CASES)
    if places is None:
        lowering.drop(fact, f"it would take more than {_MAX_CASES} cases")
        return [shape]
    if ends is None or ends > reach:
        lowering.narrow(fact, f"what it counts is put among the first {reach} elements")
    rest = ANY if wanted.most is None else no_match
    return [_placed(shape, set(chosen), wanted.match, rest) for chosen in places]


def _placed(shape: ArrayShape, chosen: set[int], match: Node, others: Node) -> ArrayShape:
    length = max(len(shape.first), max(chosen, default=-1) + 1)
    first = tuple(shape.at(n) | (match if n in chosen else others) for n in range(length))
    least = max(shape.least, max(chosen, default=-1) + 1)
    return replace(shape, first=first, rest=shape.rest | others, least=least)


def _unique(
    shape: ArrayShape | ValuesShape, fact: Fact, lowering: Lowering
) -> ArrayShape | ValuesShape:
    """Each element once: the arrays are listed where they are few."""
    if isinstance(shape, ValuesShape) or (shape.most is not None and shape.most <= 1):
        return shape
    listed = _listed(shape, lowering)
    if listed is None:
        lowering.drop(fact, "only the arrays of a few values can be listed")
        return shape
    return ValuesShape.of(listed)


def _listed(shape: ArrayShape, lowering: Lowering) -> list[Any] | None:
    """Every array of the shape without a repeated element; None if they are too many."""
    limit = shape.most if shape.most is not None else _MAX_LISTED
    out: list[Any] = [[]] if shape.least == 0 else []
    level: list[list[Any]] = [[]]
    for index in range(limit):
        values = lowering.finite(shape.at(index))
        if values is None or len(values) * len(level) > _MAX_LISTED * 4:
            return None
        level = [
            [*array, value]
            for array, value in product(level, values)
            if key(value) not in map(key, array)
        ]
        if not level:
            return out
        if index + 1 >= shape.least:
            out += level
        if len(out) > _MAX_LISTED:
            return None
    return out
