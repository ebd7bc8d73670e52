"""What a GBNF text says, as a tree. Places are for error messages and do not count in equality."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands in the text; both numbers count from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


_NOWHERE = Place(1, 1)


@dataclass(frozen=True, slots=True)
class Literal:
    """These code points in this order; none at all for `""`, `[]` and `[^]`."""

    code_points: tuple[int, ...]
    place: Place = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class CharClass:
    """One character inside (or, negated, outside) the inclusive ranges, as they were written."""

    ranges: tuple[tuple[int, int], ...]
    negated: bool = False
    place: Place = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class AnyChar:
    """`.`: one character, a newline included."""

    place: Place = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class RuleRef:
    """A rule by its name."""

    name: str
    place: Place = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class TokenRef:
    """One token of the vocabulary, or any other than it: by id, or by its text with brackets."""

    token: int | str
    negated: bool = False
    place: Place = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Repeat:
    """The item `min` to `max` times; `max` None is without end."""

    item: Item
    min: int
    max: int | None


@dataclass(frozen=True, slots=True)
class Sequence:
    """Items one after the other; none is the empty text."""

    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    """One of the sequences: the body of a rule or a group in parentheses."""

    options: tuple[Sequence, ...]


Item: TypeAlias = Literal | CharClass | AnyChar | RuleRef | TokenRef | Repeat | Alternatives


@dataclass(frozen=True, slots=True)
class Rule:
    """`name ::= body`."""

    name: str
    body: Alternatives
    place: Place = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Grammar:
    """Rules by name, in the order in which the names were first defined; `root` is the start."""

    rules: Mapping[str, Rule]

    def items(self) -> Iterator[Item]:
        """Every item of every rule, the bodies of rules and groups among them."""
        for rule in self.rules.values():
            yield from items_of(rule.body)


def items_of(item: Item) -> Iterator[Item]:
    """The item and all that it is made of; a rule that it refers to stays a reference."""
    yield item
    if isinstance(item, Repeat):
        yield from items_of(item.item)
    elif isinstance(item, Alternatives):
        for option in item.options:
            for part in option.items:
                yield from items_of(part)
