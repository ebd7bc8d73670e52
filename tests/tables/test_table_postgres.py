"""Answers in a table of a real PostgreSQL server; left out where none is installed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from urllib.parse import quote

import pytest

pytest.importorskip("sqlalchemy")
pytest.importorskip("psycopg")

import psycopg
from psycopg import sql
from stores import HOSTILE, SCHEMA, VALUE, bad, ok, sha

from postgres_server import running_postgres
from vedette.errors import FileError, InputError
from vedette.tables import open_store


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with running_postgres("clerk") as place:
        yield place


def url(folder: Path, table: str) -> str:
    return f"postgresql+psycopg://clerk@/postgres?host={folder}&table={quote(table)}"


def put(place: str, *rows: tuple[str, bytes], schema=SCHEMA) -> list[str]:
    store = open_store(place, schema)
    for name, body in rows:
        store.put(f"{name}.jpg", sha(name), body)
    store.finish()
    store.close()
    return store.notes


def ask(folder: Path, statement: str | sql.Composed) -> list[tuple]:
    with psycopg.connect(host=str(folder), user="clerk", dbname="postgres") as connection:
        return connection.execute(statement).fetchall()


def test_an_answer_is_a_row_of_typed_columns_and_is_put_twice_without_doubling(folder):
    place = url(folder, "bills")
    put(place, ("a", ok()), ("b", bad()))
    put(place, ("a", ok({**VALUE, "total": None})), ("b", ok()))
    rows = ask(folder, "SELECT company, day, at, n, total, paid, kind, lines FROM bills ORDER BY 5")
    at = datetime(2026, 1, 31, 10, tzinfo=UTC)
    same = (VALUE["company"], date(2026, 1, 31), at, 2**62)
    assert rows == [
        (*same, 19.7, True, VALUE["kind"], VALUE["lines"]),
        (*same, None, True, VALUE["kind"], VALUE["lines"]),
    ]
    assert ask(folder, "SELECT count(*) FROM bills_errors") == [(0,)]
    types = ask(
        folder,
        "SELECT data_type FROM information_schema.columns WHERE table_name = 'bills' "
        "AND column_name IN ('day', 'at', 'n', 'total', 'paid', 'lines') ORDER BY column_name",
    )
    assert [kind for (kind,) in types] == [
        "timestamp with time zone",
        "date",
        "jsonb",
        "bigint",
        "boolean",
        "double precision",
    ]


def test_what_the_server_refuses_is_an_error_row_and_the_others_stay(folder):
    nul = {**VALUE, "company": "a\0b"}
    deep = {**VALUE, "lines": ["a\0b"]}
    other = {**VALUE, "kind": "other"}
    rows = [("a", nul), ("b", VALUE), ("c", deep), ("d", other), ("e", VALUE)]
    put(url(folder, "refused"), *((name, ok(value)) for name, value in rows))
    assert ask(folder, "SELECT _id FROM refused ORDER BY 1") == [("b.jpg",), ("e.jpg",)]
    found = ask(folder, "SELECT _id, code FROM refused_errors ORDER BY 1")
    assert found == [(f"{name}.jpg", "not_storable") for name in "acd"]
    ((kept,),) = ask(folder, "SELECT value FROM refused_errors WHERE _id = 'd.jpg'")
    assert json.loads(kept)["kind"] == "other"


def test_an_id_that_no_column_takes_is_an_error_row(folder):
    put(url(folder, "ids"), ("a\0b", ok()), ("c", ok()))
    assert ask(folder, "SELECT _id FROM ids") == [("c.jpg",)]
    assert ask(folder, "SELECT _id FROM ids_errors") == [("a\\0b.jpg",)]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_quoted_wherever_they_come_from(folder, name):
    schema = {"properties": {name: {"enum": [name, "x"]}, "b": {"type": "string"}}}
    place = url(folder, name)
    put(place, ("a", ok({name: name, "b": "1"})), schema=schema)
    put(place, ("a", ok({name: "x", "b": "2"})), schema=schema)
    named = sql.Identifier(name)
    assert ask(folder, sql.SQL("SELECT {}, b FROM {}").format(named, named)) == [("x", "2")]


def test_a_table_that_differs_is_refused(folder):
    with psycopg.connect(host=str(folder), user="clerk", dbname="postgres") as connection:
        connection.execute("CREATE TABLE other (_sha256 text PRIMARY KEY, day text)")
    with pytest.raises(InputError, match="day holds text, not date"):
        open_store(url(folder, "other"), SCHEMA)


def test_a_server_that_is_not_there_is_told_without_the_password(tmp_path):
    with pytest.raises(FileError, match="cannot write to") as caught:
        open_store(f"postgresql+psycopg://me:secret@/postgres?host={tmp_path}", SCHEMA)
    assert "secret" not in str(caught.value)
