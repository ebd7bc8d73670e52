"""SQL over a real PostgreSQL server of its own; left out where none is installed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy")
pytest.importorskip("sqlglot")
pytest.importorskip("psycopg")

import psycopg
from sql_walk import accepts, matcher_of, walk

from postgres_server import running_postgres
from vedette.errors import ConstraintFailed, FileError
from vedette.tasks.sql.database import Database
from vedette.tasks.sql.reflect import read_schema

SHOP = """
CREATE TYPE mood AS ENUM ('glad', 'sad');
CREATE TABLE customer (
    id serial PRIMARY KEY, name varchar(40) NOT NULL, "City" text, born date, vip boolean,
    feels mood, tags text[], extra jsonb, key uuid
);
CREATE TABLE purchase (
    id bigserial PRIMARY KEY, customer_id integer REFERENCES customer (id),
    total numeric(10, 2), note text, at timestamptz, took interval, raw bytea
);
CREATE TABLE "order" ("select" text, "with space" integer, "größe" double precision);
CREATE VIEW spent AS SELECT customer_id, SUM(total) AS total FROM purchase GROUP BY customer_id;
INSERT INTO customer (name, "City", born, vip) VALUES
    ('Ann', 'Oslo', '1990-01-01', true), ('Bo', 'O''Hare', NULL, false);
INSERT INTO purchase (customer_id, total, note) VALUES (1, 9.5, '100%'), (1, 1.5, NULL);
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A database with a shop in it."""
    with running_postgres("shop") as folder:
        with psycopg.connect(host=str(folder), user="shop", dbname="postgres") as connection:
            connection.execute(SHOP)
        yield f"postgresql+psycopg://shop@/postgres?host={folder}"


def test_the_server_takes_every_statement_of_the_grammar(url: str) -> None:
    source = Database(url)
    start, rng = matcher_of(read_schema(source)), random.Random(5)
    found = [text for _ in range(300) if (text := walk(start, rng)) is not None]
    assert len({*found}) > 60
    for statement in found:
        source.explain(statement)
        source.rows(statement, 1)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT name FROM customer WHERE \"City\" = 'Oslo'",
        "SELECT name FROM customer WHERE born > '1980-01-01'",
        "SELECT name, purchase.total FROM customer "
        "JOIN purchase ON customer.id = purchase.customer_id",
        'SELECT "City", COUNT(*) FROM customer GROUP BY 1 ORDER BY 2 DESC LIMIT 1',
        "SELECT note FROM purchase WHERE note LIKE '%0%'",
        'SELECT "größe" FROM "order"',
        "SELECT SUM(spent.total) FROM spent",
        "SELECT name FROM customer WHERE born = (SELECT MAX(born) FROM customer)",
        "SELECT note FROM purchase WHERE purchase.total > "
        "(SELECT purchase.total FROM purchase ORDER BY purchase.total LIMIT 1)",
    ],
)
def test_what_is_asked_for_every_day_can_be_said(url: str, statement: str) -> None:
    source = Database(url)
    assert accepts(matcher_of(read_schema(source)), statement)
    source.rows(statement, 1)


def test_a_value_is_not_compared_with_many_rows(url: str) -> None:
    start = matcher_of(read_schema(Database(url)))
    many = "(SELECT purchase.total FROM purchase)"
    assert accepts(start, f"SELECT note FROM purchase WHERE purchase.total IN {many}")
    assert not accepts(start, f"SELECT note FROM purchase WHERE purchase.total = {many}")


def test_a_per_cent_sign_is_itself(url: str) -> None:
    rows = Database(url).rows("SELECT note FROM purchase WHERE note LIKE '%0%'", 5)
    assert (rows.columns, rows.rows) == (("note",), (("100%",),))


def test_nothing_can_be_written_even_by_hand(url: str) -> None:
    source = Database(url)
    for statement in ("DELETE FROM purchase", "CREATE TABLE x (y int)", "SELECT nextval('x')"):
        with pytest.raises(ConstraintFailed):
            source.rows(statement, 1)
    assert source.rows("SELECT COUNT(*) FROM purchase", 1).rows == ((2,),)


def test_a_server_that_is_not_there_is_told_without_the_password(tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        Database(f"postgresql+psycopg://me:secret@/postgres?host={tmp_path}")
    assert "secret" not in str(caught.value)
