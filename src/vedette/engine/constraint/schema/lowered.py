"""What has become of a node: its shapes, and a mark for whatever they do not say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from vedette.schema_report import Verdict

from .array import ArrayShape
from .facts import Fact, Keyword, Node
from .members import ObjectShape
from .number import NumberShape
from .text import TextShape
from .values import ValuesShape

Shape: TypeAlias = ValuesShape | NumberShape | TextShape | ArrayShape | ObjectShape


@dataclass(frozen=True, slots=True)
class Mark:
    """What happened to a keyword in a node."""

    keyword: Keyword
    verdict: Verdict
    reason: str


@dataclass(slots=True)
class Lowered:
    """A node's shapes, or the nodes that it is the union of.

    `owed` are negations (by the keywords that made them) with the nodes on which they rest: they
    are exact only if these are. `notes` are the author's own `x-` keywords.
    """

    shapes: list[Shape] = field(default_factory=list)
    union: tuple[Node, ...] = ()
    marks: list[Mark] = field(default_factory=list)
    owed: list[tuple[tuple[Keyword, ...], tuple[Node, ...]]] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)


def dropped(fact: Fact, keyword: Keyword) -> Mark:
    """The mark of a fact that has no form in the grammar from the start."""
    return Mark(keyword, "checked", str(fact.value))


def nodes_of(fact: Fact) -> tuple[Node, ...]:
    """The nodes on which a fact rests."""
    if fact.name == "members":
        return (*fact.value.named.values(), *fact.value.patterns.values(), fact.value.rest)
    if fact.name == "elements":
        return (*fact.value.first, fact.value.rest)
    if fact.name == "contains":
        return (fact.value.match,)
    return (fact.value,) if fact.name == "names" else ()
