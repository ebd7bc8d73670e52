"""The vocabulary of the lowering: nodes, facts about a value, and choices between them.

A node is a set of assumptions about one value: this subschema holds, that one does not. Taking
its schemas apart gives cases, each a list of plain facts; a value belongs to the node if one
case's facts all hold. Negation has gone into the facts by then, so that a fact which has no
form in the grammar can be left out without ever making the whole too narrow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from .dialect import Path, Step

Kind = Literal["null", "boolean", "number", "string", "array", "object"]
KINDS: tuple[Kind, ...] = ("null", "boolean", "number", "string", "array", "object")
EVERY_KIND: frozenset[Kind] = frozenset(KINDS)


class Signed(NamedTuple):
    """One assumption: the subschema at this path of the bundle holds, or does not."""

    path: Path
    holds: bool


# A schema with an `unevaluated*` keyword, and the kind that this is about.
Scope: TypeAlias = tuple[Path, Kind]
Node: TypeAlias = frozenset[Signed]
ANY: Node = frozenset()
_NEVER_PATH: Path = ("$never",)
NEVER: Node = frozenset({Signed(_NEVER_PATH, True)})


def is_never(path: Path) -> bool:
    """Whether this is the path of the schema that nothing meets."""
    return path == _NEVER_PATH


def node(path: Path, holds: bool = True) -> Node:
    """The node of one assumption."""
    return frozenset({Signed(path, holds)})


@dataclass(frozen=True, slots=True)
class Keyword:
    """A keyword at a place of the bundle, for the report."""

    path: Path
    name: str


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that must be true of values of one kind (of all kinds if None).

    `source` is where it is written; `causes` are the keywords (`not`, `oneOf`, `if`) under whose
    negation it came up.
    """

    kind: Kind | None
    name: str
    value: Any
    source: Keyword
    causes: tuple[Keyword, ...] = ()


@dataclass(frozen=True, slots=True)
class Members:
    """What the members of an object may be, as one schema says: by name, by pattern, the rest."""

    named: Mapping[str, Node]
    patterns: Mapping[str, Node]
    rest: Node


@dataclass(frozen=True, slots=True)
class Elements:
    """What the elements of an array may be, as one schema says: the first ones, the rest."""

    first: tuple[Node, ...]
    rest: Node


@dataclass(frozen=True, slots=True)
class Contains:
    """How many elements must meet a node. `most` None: no limit."""

    match: Node
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Assume:
    """A step of a case: one more assumption. `scopes` are those that see what it evaluates."""

    signed: Signed
    scopes: frozenset[Scope] = frozenset()
    causes: tuple[Keyword, ...] = ()


@dataclass(frozen=True, slots=True)
class Only:
    """A step of a case: the value is of one of these kinds."""

    kinds: frozenset[Kind]


Way: TypeAlias = tuple[Assume | Only | Fact, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """At least one of the ways must hold."""

    source: Keyword
    ways: tuple[Way, ...]


def below(path: Path, *steps: Step) -> Path:
    """A path further down."""
    return (*path, *steps)
