"""Schemas become typed columns, and every JSON value its column's kind or a clear error."""

from __future__ import annotations

from datetime import UTC, date, datetime, time

import pytest

pytest.importorskip("sqlalchemy")

from vedette.errors import InputError, SchemaError
from vedette.tables.columns import Column, columns_of, stored
from vedette.tables.target import parse_target
from vedette.tasks.fields import schema_of_fields


def column(**sub: object) -> Column:
    (found,) = columns_of({"type": "object", "properties": {"a": sub}, "required": ["a"]})
    return found


@pytest.mark.parametrize(
    ("sub", "kind", "nullable"),
    [
        ({"type": "string"}, "text", False),
        ({"type": ["string", "null"]}, "text", True),
        ({"type": "string", "format": "date"}, "date", False),
        ({"type": ["null", "string"], "format": "date-time"}, "date-time", True),
        ({"type": "string", "format": "time"}, "time", False),
        ({"type": "string", "format": "email"}, "text", False),
        ({"type": "integer"}, "integer", False),
        ({"type": "number"}, "number", False),
        ({"type": ["integer", "number"]}, "number", False),
        ({"type": "boolean"}, "boolean", False),
        ({"type": "array", "items": {"type": "string"}}, "json", False),
        ({"type": ["object", "null"]}, "json", True),
        ({"type": ["string", "integer"]}, "json", False),
        ({}, "json", True),
        ({"enum": ["x", "y"]}, "text", False),
        ({"enum": ["x", None]}, "text", True),
        ({"enum": [1, 2]}, "integer", False),
        ({"enum": [1, 2.5]}, "number", False),
        ({"enum": [True, None]}, "boolean", True),
        ({"enum": [True, 1]}, "json", False),
        ({"enum": ["x", 1]}, "json", False),
        ({"const": "x"}, "text", False),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer", True),
        ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, "json", False),
        ({"$ref": "#/$defs/d"}, "json", True),
    ],
)
def test_each_kind_of_property_has_its_column(sub, kind, nullable):
    found = column(**sub)
    assert (found.kind, found.nullable) == (kind, nullable)


def test_a_property_that_is_not_required_may_be_null():
    (found,) = columns_of({"properties": {"a": {"type": "integer"}}})
    assert found.nullable


def test_references_are_followed():
    schema = {
        "$ref": "#/$defs/row",
        "$defs": {
            "row": {"properties": {"d": {"$ref": "#/$defs/day"}}, "required": ["d"]},
            "day": {"type": "string", "format": "date"},
        },
    }
    assert columns_of(schema) == (Column("d", "date", nullable=False),)


def test_the_values_of_an_enum_are_known():
    assert column(enum=["x", "it's", None]).values == ("x", "it's")


def test_field_lists_have_columns():
    spec = "a, b:int, c:number, d:bool, e:date, f:strings, g:X|Y, h:span"
    kinds = [found.kind for found in columns_of(schema_of_fields(spec))]
    assert kinds == ["text", "integer", "number", "boolean", "date", "json", "text", "text"]


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({}, "object with properties"),
        ({"_id": {}}, "vedette's own"),
        ({"a": {}, "A": {}}, "differ only in their case"),
        ({"": {}}, "cannot be the name"),
        ({"a\0": {}}, "cannot be the name"),
        ({"ä" * 40: {}}, "more than"),
    ],
)
def test_names_that_no_table_can_have_are_refused(properties, said):
    with pytest.raises(InputError, match=said):
        columns_of({"type": "object", "properties": properties})


def test_a_schema_of_a_list_has_no_columns():
    with pytest.raises(SchemaError):
        columns_of({"type": "array", "items": {"type": "string"}})


@pytest.mark.parametrize(
    ("kind", "value", "kept"),
    [
        ("text", "x", "x"),
        ("integer", 3, 3),
        ("integer", 3.0, 3),
        ("number", 3, 3.0),
        ("boolean", True, True),
        ("date", "2026-01-31", date(2026, 1, 31)),
        ("date-time", "2026-01-31T12:00:00+02:00", datetime(2026, 1, 31, 10, tzinfo=UTC)),
        ("date-time", "2026-01-31T12:00:00Z", datetime(2026, 1, 31, 12, tzinfo=UTC)),
        ("time", "12:00:00", time(12)),
        ("time", "12:00:00+02:00", time(10)),
        ("json", ["a"], ["a"]),
        ("date", None, None),
    ],
)
def test_values_become_what_their_column_holds(kind, value, kept):
    assert stored(value, Column("a", kind, nullable=True)) == kept


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("integer", 2**63),
        ("integer", 1.5),
        ("date", "2026-02-30"),
        ("date-time", "2026-01-31T12:00:60Z"),
        ("date-time", "2026-01-31T12:00:00"),
        ("time", "later"),
    ],
)
def test_a_value_that_its_column_cannot_hold_is_said(kind, value):
    with pytest.raises(ValueError, match=f"a: .* cannot be kept as {kind}"):
        stored(value, Column("a", kind, nullable=True))


# Targets


def test_the_table_is_named_in_the_url_and_the_password_is_shown_to_nobody():
    target = parse_target("postgresql+psycopg://me:secret@host/db?sslmode=require&table=bills")
    assert target.table == "bills"
    assert dict(target.url.query) == {"sslmode": "require"}
    assert target.url.password == "secret"
    assert "secret" not in target.shown
    assert parse_target("sqlite:///a.db").table == "results"


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("receipts.db", "takes a URL"),
        ("sqlite://", "needs its file"),
        ("sqlite:///:memory:", "needs its file"),
        ("sqlite:///a.db?tabel=x", "'tabel' is no option"),
        ("sqlite:///a.db?table=a&table=b", "twice"),
        ("sqlite:///a.db?table=sqlite_x", "sqlite_"),
        ("mysql://a/b", "the database is mysql"),
    ],
)
def test_a_url_that_names_no_table_says_why(place, said):
    with pytest.raises(InputError, match=said):
        parse_target(place)
