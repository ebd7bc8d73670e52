"""A schema as the model reads it: CREATE TABLE statements, which it knows best."""

from __future__ import annotations

from .literals import quoted
from .names import written
from .schema import Column, Dialect, Kind, Link, Schema, Table

MAX_SHOWN_VALUES = 8
_TYPES: dict[Dialect, dict[Kind, str]] = {
    "sqlite": {"number": "NUMBER", "text": "TEXT"},
    "postgres": {"number": "NUMERIC", "text": "TEXT", "date": "DATE", "boolean": "BOOLEAN"},
}


def rendered(schema: Schema) -> str:
    """All tables, with keys, and with values behind the columns of which they are known."""
    return "\n".join(_table(table, schema) for table in schema.tables)


def _table(table: Table, schema: Schema) -> str:
    lines = [f"  {_column(column, schema.dialect)}" for column in table.columns]
    links = [link for link in schema.links if link.table.lower() == table.name.lower()]
    lines += [f"  {_link(link, schema.dialect)}" for link in links]
    return "\n".join([f"CREATE TABLE {written(table.name, schema.dialect)} (", *lines, ");"])


def _column(column: Column, dialect: Dialect) -> str:
    parts = [written(column.name, dialect)]
    if column.kind in _TYPES[dialect]:
        parts.append(_TYPES[dialect][column.kind])
    text = f"{' '.join(parts)}{' PRIMARY KEY' if column.is_key else ''},"
    if column.values:
        shown = ", ".join(map(quoted, column.values[:MAX_SHOWN_VALUES]))
        more = ", ..." if len(column.values) > MAX_SHOWN_VALUES else ""
        text += f" -- {shown}{more}"
    return text


def _link(link: Link, dialect: Dialect) -> str:
    ours = ", ".join(written(name, dialect) for name in link.columns)
    theirs = ", ".join(written(name, dialect) for name in link.other_columns)
    other = written(link.other, dialect)
    return f"FOREIGN KEY ({ours}) REFERENCES {other} ({theirs}),"
