"""Whether a table that is there already can take the rows."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    Boolean,
    Connection,
    Date,
    DateTime,
    Float,
    Integer,
    Numeric,
    String,
    Table,
    Time,
    inspect,
)
from sqlalchemy.types import JSON, TypeEngine

from vedette.errors import InputError

_KINDS: tuple[tuple[type[TypeEngine[Any]], str], ...] = (
    (Boolean, "boolean"),
    (Integer, "integer"),
    (Float, "number"),
    (Numeric, "number"),
    (DateTime, "date-time"),
    (Date, "date"),
    (Time, "time"),
    (JSON, "json"),
    (String, "text"),
)


def ensure(connection: Connection, table: Table, shown: str) -> bool:
    """Create the table, or check the one that is there; returns whether it was created.

    Raises `InputError` that says everything in which it differs.
    """
    if not inspect(connection).has_table(table.name):
        table.create(connection)
        return True
    found = [*_differences(connection, table)]
    if found:
        raise InputError(
            f"the table {table.name} in {shown} does not fit: {'; '.join(found)}",
            hint="name another table with ?table=NAME, or alter or drop this one",
        )
    return False


def _differences(connection: Connection, table: Table) -> list[str]:
    inspector = inspect(connection)
    found: list[str] = []
    key = inspector.get_pk_constraint(table.name).get("constrained_columns") or []
    wanted_key = [column.name for column in table.primary_key]
    if list(key) != wanted_key:
        found.append(f"its primary key is {', '.join(key) or 'missing'}, not {wanted_key[0]}")
    there = {column["name"]: column for column in inspector.get_columns(table.name)}
    for column in table.columns:
        other = there.pop(column.name, None)
        if other is None:
            found.append(f"it has no column {column.name}")
            continue
        wanted, has = _kind(column.type), _kind(other["type"])
        if has != wanted:
            found.append(f"{column.name} holds {has}, not {wanted}")
        elif column.nullable and not other["nullable"]:
            found.append(f"{column.name} takes no null, which the schema allows")
    for name, other in there.items():
        if not other["nullable"] and other.get("default") is None:
            found.append(f"its column {name} must have a value, and the schema has none for it")
    return found


def _kind(of: TypeEngine[Any]) -> str:
    return next((kind for one, kind in _KINDS if isinstance(of, one)), str(of).lower())
