"""One way in which a value can belong to a node, while its schemas are taken apart."""

from __future__ import annotations

from dataclasses import dataclass, field

from vedette.types import Json

from .facts import EVERY_KIND, Choice, Fact, Keyword, Kind, Scope, Signed


@dataclass(slots=True)
class Seen:
    """What the schemas within one scope have evaluated (for the `unevaluated*` keywords)."""

    names: dict[str, None] = field(default_factory=dict)
    patterns: dict[str, None] = field(default_factory=dict)
    all_members: bool = False
    first_elements: int = 0
    all_elements: bool = False
    unclear: bool = False  # something was evaluated that cannot be told before the value is there

    def copy(self) -> Seen:
        """An independent copy."""
        return Seen(
            dict(self.names),
            dict(self.patterns),
            self.all_members,
            self.first_elements,
            self.all_elements,
            self.unclear,
        )


@dataclass(frozen=True, slots=True)
class Unevaluated:
    """An `unevaluatedProperties` or `unevaluatedItems` that waits for its scope to be complete."""

    scope: Scope
    source: Keyword
    outer: frozenset[Scope]


@dataclass(slots=True)
class Case:
    """Kinds, facts and open choices. Copied where a choice is taken."""

    kinds: frozenset[Kind] = EVERY_KIND
    integer: bool = False
    assumed: dict[Signed, frozenset[Scope]] = field(default_factory=dict)
    facts: list[Fact] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    values: list[Json] | None = None
    seen: dict[Scope, Seen] = field(default_factory=dict)
    unevaluated: list[Unevaluated] = field(default_factory=list)

    def copy(self) -> Case:
        """An independent copy."""
        return Case(
            self.kinds,
            self.integer,
            dict(self.assumed),
            list(self.facts),
            list(self.choices),
            self.values,
            {scope: seen.copy() for scope, seen in self.seen.items()},
            list(self.unevaluated),
        )
