"""What may stand in a FROM: tables, second occurrences of them, and the joins between.

A table that can be reached twice (two foreign keys from one table, or one into itself) occurs a
second time under an alias, T2 to T4, so that both ends of a flight can be named.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from vedette.errors import InputError

from .schema import Column, Link, Schema, Table

ALIASES = ("T2", "T3", "T4")


@dataclass(frozen=True, slots=True)
class Source:
    """A table in a FROM, called `name` in the rest of the statement."""

    name: str
    table: Table
    is_alias: bool = False

    @property
    def columns(self) -> tuple[Column, ...]:
        """Those of the table."""
        return self.table.columns


@dataclass(frozen=True, slots=True)
class Join:
    """An ON between two sources, given by their numbers: pairs of columns that are equal."""

    one: int
    other: int
    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Sources:
    """All sources, those that joins connect standing next to each other.

    `parts[i]` is the range of the sources that can be joined with source i, itself included.
    """

    sources: tuple[Source, ...]
    joins: tuple[Join, ...]
    parts: tuple[tuple[int, int], ...]


def sources_of(schema: Schema, limit: int) -> Sources:
    """The sources of a schema, aliases as far as `limit` leaves room.

    Raises `InputError` where the tables alone are more.
    """
    if len(schema.tables) > limit:
        raise InputError(
            f"a statement can choose among {limit} tables, and there are {len(schema.tables)}",
            hint="name those that matter with --tables",
        )
    sources = [Source(table.name, table) for table in schema.tables]
    taken = {table.name.lower() for table in schema.tables}
    free = [alias for alias in ALIASES if alias.lower() not in taken]
    twice = _reached_twice(schema.links)
    for table in schema.tables:
        if table.name.lower() in twice and free and len(sources) < limit:
            sources.append(Source(free.pop(0), table, is_alias=True))
    links = [*_joins(sources, schema.links)]
    groups = _connected(len(sources), links)
    order = [number for group in groups for number in group]
    place = {number: at for at, number in enumerate(order)}
    parts: list[tuple[int, int]] = []
    for group in groups:
        low = len(parts)
        parts += [(low, low + len(group))] * len(group)
    return Sources(
        tuple(sources[number] for number in order),
        tuple(Join(place[j.one], place[j.other], j.pairs) for j in links),
        tuple(parts),
    )


def _reached_twice(links: Iterable[Link]) -> set[str]:
    """Tables with a link into themselves, or to which another table has two."""
    twice, ends = set(), []
    for link in links:
        if link.table.lower() == link.other.lower():
            twice.add(link.table.lower())
        ends.append((link.table.lower(), link.other.lower(), link.columns))
    for one, other in combinations(ends, 2):
        if one[:2] == other[:2] and one[2] != other[2]:
            twice.add(one[1])
    return twice


def _joins(sources: list[Source], links: Iterable[Link]) -> Iterable[Join]:
    for link in dict.fromkeys(links):
        for i, one in enumerate(sources):
            for k, other in enumerate(sources):
                ends = (one.table.name.lower(), other.table.name.lower())
                if i != k and ends == (link.table.lower(), link.other.lower()):
                    yield Join(i, k, tuple(zip(link.columns, link.other_columns, strict=True)))


def _connected(n: int, joins: Iterable[Join]) -> list[list[int]]:
    group = list(range(n))
    for join in joins:
        old, new = group[join.other], group[join.one]
        group = [new if g == old else g for g in group]
    return [[i for i in range(n) if group[i] == g] for g in dict.fromkeys(group)]
