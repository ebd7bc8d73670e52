"""The two tables as SQLAlchemy has them: answers, and rows without one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Date,
    DateTime,
    Double,
    MetaData,
    String,
    Table,
    Text,
    Time,
)
from sqlalchemy import Column as SqlColumn
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import JSON, TypeEngine

from .columns import Column, Kind

KEY, ID, AT = "sha256", "row", "at"
"""Keys of columns that both have."""


def answers_table(name: str, columns: Sequence[Column], metadata: MetaData) -> Table:
    """The table of answers, `c0`, `c1` ... the keys of the schema's columns.

    Keys of our own stand for their names, which may hold anything.
    """
    own = (
        SqlColumn("_sha256", String(64), key=KEY, primary_key=True),
        SqlColumn("_id", Text, key=ID, nullable=False),
        SqlColumn("_read_by", Text, key="read_by"),
        SqlColumn("_confidence", Double, key="confidence"),
        SqlColumn("_written_at", DateTime(timezone=True), key=AT, nullable=False),
    )
    given: list[SqlColumn[Any]] = []
    checks = []
    for i, column in enumerate(columns):
        one: SqlColumn[Any] = SqlColumn(
            column.name, _type(column.kind), key=f"c{i}", nullable=column.nullable
        )
        given.append(one)
        if column.values:
            checks.append(CheckConstraint(one.in_(column.values)))
    return Table(name, metadata, *own, *given, *checks)


def errors_table(name: str, metadata: MetaData) -> Table:
    """The table of errors beside the table `name`."""
    return Table(
        f"{name}_errors",
        metadata,
        SqlColumn("_sha256", String(64), key=KEY, primary_key=True),
        SqlColumn("_id", Text, key=ID, nullable=False),
        SqlColumn("code", Text, nullable=False),
        SqlColumn("message", Text, nullable=False),
        SqlColumn("hint", Text),
        SqlColumn("value", Text),
        SqlColumn("_written_at", DateTime(timezone=True), key=AT, nullable=False),
    )


def _type(kind: Kind) -> TypeEngine[Any]:
    match kind:
        case "text":
            return Text()
        case "integer":
            return BigInteger()
        case "number":
            return Double()
        case "boolean":
            return Boolean()
        case "date":
            return Date()
        case "date-time":
            return DateTime(timezone=True)
        case "time":
            return Time()
        case "json":
            return JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")
