"""What the SQL kit knows of a database: tables, columns, and what links them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from vedette.errors import InputError
from vedette.types import Json

Dialect: TypeAlias = Literal["sqlite", "postgres"]

Kind: TypeAlias = Literal["number", "text", "date", "boolean", "any", "opaque"]
"""What may be done with a column's values.

`any`: SQLite's columns without a type, compared with numbers and strings alike. `opaque`: what
has no literal of ours and perhaps no order (JSON, arrays, bytes): shown and counted only.
"""


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `values` are some of those it holds, where they are few and known."""

    name: str
    kind: Kind
    is_key: bool = False
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table or a view."""

    name: str
    columns: tuple[Column, ...]

    def column(self, name: str) -> Column | None:
        """The column of this name; names in SQL do not tell case."""
        return next((c for c in self.columns if c.name.lower() == name.lower()), None)


@dataclass(frozen=True, slots=True)
class Link:
    """Two tables that can be joined, column by column; `declared` by a foreign key, or guessed."""

    table: str
    columns: tuple[str, ...]
    other: str
    other_columns: tuple[str, ...]
    declared: bool = True


@dataclass(frozen=True, slots=True)
class Schema:
    """A database as far as a statement can name it."""

    dialect: Dialect
    tables: tuple[Table, ...]
    links: tuple[Link, ...]

    @property
    def identity(self) -> Json:
        """All of it, for what answers depend on."""
        return [
            self.dialect,
            [[t.name, [[c.name, c.kind, [*c.values]] for c in t.columns]] for t in self.tables],
            [[k.table, [*k.columns], k.other, [*k.other_columns]] for k in self.links],
        ]

    def only(self, names: tuple[str, ...]) -> Schema:
        """The schema of these tables alone. Raises `InputError` for a name that is none."""
        known = {table.name.lower(): table for table in self.tables}
        unknown = [name for name in names if name.lower() not in known]
        if unknown:
            raise InputError(
                f"the database has no table {unknown[0]!r}",
                hint=f"it has {', '.join(sorted(t.name for t in self.tables))}",
            )
        wanted = {name.lower() for name in names}
        return replace(
            self,
            tables=tuple(table for table in self.tables if table.name.lower() in wanted),
            links=tuple(k for k in self.links if {k.table.lower(), k.other.lower()} <= wanted),
        )


def guessed_links(tables: tuple[Table, ...], declared: tuple[Link, ...] = ()) -> tuple[Link, ...]:
    """Links between tables that no foreign key links, from the names of their columns.

    A column links to another table's only key column if it has that column's name (unless that is
    just `id`), or the table's name with or without the key's: `singer`, `singer_id` or `singerid`
    to `singer.id`.
    """
    linked = {frozenset((link.table.lower(), link.other.lower())) for link in declared}
    links = []
    for table in tables:
        for other in tables:
            keys = [column for column in other.columns if column.is_key]
            ends = frozenset((table.name.lower(), other.name.lower()))
            if len(ends) != 2 or len(keys) != 1 or ends in linked:
                continue
            for column in table.columns:
                same_kind = column.kind == keys[0].kind
                if same_kind and _means(column.name, other.name, keys[0].name):
                    link = Link(table.name, (column.name,), other.name, (keys[0].name,), False)
                    links.append(link)
    return tuple(links)


def _means(name: str, table: str, key: str) -> bool:
    name, table, key = (x.lower().replace("_", "") for x in (name, table, key))
    if name == key:
        return key != "id"
    stems = {table, table.removesuffix("s"), table.removesuffix("es")}
    return any(name in (stem, stem + key) for stem in stems)
