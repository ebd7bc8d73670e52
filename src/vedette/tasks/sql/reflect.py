"""The schema of a live database, by SQLAlchemy's reflection."""

from __future__ import annotations

import warnings
from typing import Any

from sqlalchemy import Connection, inspect, text
from sqlalchemy import types as sqltypes
from sqlalchemy.engine.interfaces import ReflectedColumn, ReflectedForeignKeyConstraint
from sqlalchemy.exc import SAWarning, SQLAlchemyError

from vedette.errors import FileError, InputError

from .database import Database, reason_of
from .names import written
from .schema import Column, Dialect, Kind, Link, Schema, Table, guessed_links

MAX_VALUES = 20
MAX_VALUE_CHARS = 40
LOOKED_AT_ROWS = 1000
_NUMBERS = (sqltypes.Numeric, sqltypes.Float, sqltypes.Integer)


def read_schema(
    database: Database, tables: tuple[str, ...] = (), *, max_values: int = MAX_VALUES
) -> Schema:
    """The tables and views of the default schema, or only those that are named.

    Of text columns with at most `max_values` different values in their first rows, these are kept
    too. Links are the foreign keys; between tables that none links, they are guessed from names.
    Raises `FileError` for what cannot be read and `InputError` where nothing is there.
    """
    try:
        with database.connect() as connection, warnings.catch_warnings():
            # It warns of types it does not know; such columns are `any` or `opaque` here.
            warnings.simplefilter("ignore", SAWarning)
            schema = _read(connection, database.dialect, max_values)
    except SQLAlchemyError as error:
        message = f"cannot read the schema of {database.shown}: {reason_of(error)}"
        raise FileError(message) from error
    if not schema.tables:
        raise InputError(f"the database {database.shown} has no tables to ask about")
    return schema.only(tables) if tables else schema


def _read(connection: Connection, dialect: Dialect, max_values: int) -> Schema:
    inspector = inspect(connection)
    names = [*inspector.get_table_names(), *inspector.get_view_names()]
    views = {*inspector.get_view_names()}
    tables, links = [], []
    for name in sorted(names):
        is_view = name in views
        key_names = (
            set() if is_view else {*inspector.get_pk_constraint(name)["constrained_columns"]}
        )
        columns = [_column(c, key_names, dialect) for c in inspector.get_columns(name)]
        if not columns:
            continue
        if max_values:
            columns = [_with_values(connection, dialect, name, c, max_values) for c in columns]
        tables.append(Table(name, tuple(columns)))
        if name not in views:
            links += [_link(name, key, inspector) for key in inspector.get_foreign_keys(name)]
    known = {(t.name.lower(), c.name.lower()) for t in tables for c in t.columns}
    kept = tuple(link for link in links if link is not None and _exists(link, known))
    return Schema(dialect, tuple(tables), kept + guessed_links(tuple(tables), kept))


def _column(found: ReflectedColumn, keys: set[str], dialect: Dialect) -> Column:
    kind = kind_of(found["type"], dialect)
    return Column(found["name"], kind, is_key=found["name"] in keys)


def kind_of(type_: sqltypes.TypeEngine[Any], dialect: Dialect) -> Kind:
    """What may be done with values of a declared type."""
    if dialect == "sqlite":
        # SQLite keeps dates as text, and anything in a column without a type.
        if isinstance(type_, (*_NUMBERS, sqltypes.Boolean)):
            return "number"
        text_like = isinstance(type_, sqltypes.String | sqltypes.Date | sqltypes.DateTime)
        return "text" if text_like or isinstance(type_, sqltypes.Time) else "any"
    match type_:
        case sqltypes.Enum():
            return "opaque"
        case sqltypes.Numeric() | sqltypes.Float() | sqltypes.Integer():
            return "number"
        case sqltypes.String():
            return "text"
        case sqltypes.Date() | sqltypes.DateTime():
            return "date"
        case sqltypes.Boolean():
            return "boolean"
        case _:
            return "opaque"


def _link(table: str, key: ReflectedForeignKeyConstraint, inspector: Any) -> Link | None:
    if key.get("referred_schema"):
        return None
    other, columns = key["referred_table"], key["constrained_columns"]
    referred = key["referred_columns"]
    if not referred:  # SQLite: the other table's primary key is meant
        referred = inspector.get_pk_constraint(other)["constrained_columns"]
    if len(referred) != len(columns):
        return None
    return Link(table, tuple(columns), other, tuple(referred))


def _exists(link: Link, known: set[tuple[str, str]]) -> bool:
    ends = [(link.table, c) for c in link.columns] + [(link.other, c) for c in link.other_columns]
    return all((table.lower(), column.lower()) in known for table, column in ends)


def _with_values(
    connection: Connection, dialect: Dialect, table: str, column: Column, limit: int
) -> Column:
    """The column with the values it holds, if it is text and they are few."""
    if column.kind != "text":
        return column
    name = written(column.name, dialect)
    rows = connection.execute(
        text(
            f"SELECT DISTINCT {name} FROM (SELECT {name} FROM {written(table, dialect)} "
            f"LIMIT {LOOKED_AT_ROWS}) AS looked_at LIMIT {limit + 1}"
        )
    )
    values = [row[0] for row in rows if row[0] is not None]
    if len(values) > limit or not all(_is_short(value) for value in values):
        return column
    return Column(column.name, column.kind, column.is_key, tuple(sorted(values)))


def _is_short(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MAX_VALUE_CHARS and value.isprintable()
