"""A schema that is being taken apart, and what can be read off it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .case import Case, Seen
from .dialect import Path, Step
from .facts import (
    ANY,
    EVERY_KIND,
    NEVER,
    Assume,
    Choice,
    Contains,
    Elements,
    Fact,
    Keyword,
    Kind,
    Members,
    Scope,
    Signed,
    Way,
    below,
    node,
)


@dataclass(slots=True)
class Here:
    """A schema that is being taken apart, and the case that this goes into.

    `assume` takes a further assumption into the case at once; `overlapping` says which of these
    subschemas may hold together with the first.
    """

    case: Case
    path: Path
    schema: Mapping[str, Any]
    scopes: frozenset[Scope]
    causes: tuple[Keyword, ...]
    assume: Callable[[Case, Assume], None]
    overlapping: Callable[[Path, list[Path]], list[Path]]

    def fact(self, kind: Kind | None, name: str, value: Any, keyword: str) -> None:
        """Add a fact."""
        source = Keyword(self.path, keyword)
        self.case.facts.append(Fact(kind, name, value, source, self.causes))

    def choose(self, keyword: str, ways: list[Way]) -> None:
        """Add a choice."""
        self.case.choices.append(Choice(Keyword(self.path, keyword), tuple(ways)))

    def holds(self, *steps: Step) -> Assume:
        """The step that this subschema holds, as part of this schema."""
        return Assume(Signed(below(self.path, *steps), True), self.scopes, self.causes)

    def fails(self, keyword: str, *steps: Step) -> Assume:
        """The step that this subschema does not hold, because of a keyword."""
        causes = (*self.causes, Keyword(self.path, keyword))
        return Assume(Signed(below(self.path, *steps), False), frozenset(), causes)

    def seen(self) -> list[Seen]:
        """The scopes that see what this schema evaluates."""
        return [self.case.seen[scope] for scope in self.scopes]


def target_of(reference: str) -> Path:
    """The path that a reference of the bundle means."""
    name = reference.removeprefix("#/$defs/")
    return ("$defs", name.replace("~1", "/").replace("~0", "~"))


def lacks(here: Here, name: str, keyword: str) -> Fact:
    """The fact that an object has no such member."""
    members = Members({name: NEVER}, {}, ANY)
    return Fact("object", "members", members, Keyword(here.path, keyword), here.causes)


def has(here: Here, names: list[str], keyword: str) -> Fact:
    """The fact that an object has these members."""
    return Fact("object", "required", tuple(names), Keyword(here.path, keyword), here.causes)


def kinds_of(types: str | list[str]) -> tuple[frozenset[Kind], bool]:
    """The kinds that `type` names, and whether its numbers are integers only."""
    names = {types} if isinstance(types, str) else set(types)
    integer = "integer" in names and "number" not in names
    names = {"number" if name == "integer" else name for name in names}
    return frozenset(kind for kind in EVERY_KIND if kind in names), integer


def members_of(here: Here) -> Members:
    """What `properties`, `patternProperties` and `additionalProperties` say together."""
    named = {
        name: node(below(here.path, "properties", name))
        for name in here.schema.get("properties", {})
    }
    patterns = {
        pattern: node(below(here.path, "patternProperties", pattern))
        for pattern in here.schema.get("patternProperties", {})
    }
    rest = node(below(here.path, "additionalProperties"))
    return Members(named, patterns, rest if "additionalProperties" in here.schema else ANY)


def elements_of(here: Here) -> tuple[Elements, str, str]:
    """What is said of the elements, with the keywords for the first ones and for the rest."""
    if isinstance(here.schema.get("items"), list):
        first_keyword, rest_keyword = "items", "additionalItems"
    else:
        first_keyword, rest_keyword = "prefixItems", "items"
    first = here.schema.get(first_keyword, [])
    rest = node(below(here.path, rest_keyword)) if rest_keyword in here.schema else ANY
    nodes = tuple(node(below(here.path, first_keyword, n)) for n in range(len(first)))
    return Elements(nodes, rest), first_keyword, rest_keyword


def contains_of(here: Here) -> Contains:
    """`contains` with its counts."""
    most = here.schema.get("maxContains")
    least = int(here.schema.get("minContains", 1))
    match = node(below(here.path, "contains"))
    return Contains(match, least, None if most is None else int(most))
