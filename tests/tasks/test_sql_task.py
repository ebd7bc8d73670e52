"""SQL over a live database: what the grammar lets through, the database takes."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy")
pytest.importorskip("sqlglot")

from scripted import WordBackend, always
from sql_walk import accepts, matcher_of, walk

from vedette.errors import ConstraintFailed, FileError, InputError
from vedette.tasks.sql.database import Database
from vedette.tasks.sql.reflect import read_schema
from vedette.tasks.sql.rendering import rendered
from vedette.tasks.sql.schema import Column, Link, Schema, Table
from vedette.tasks.sql.task import AskDatabase
from vedette.types import Completion, Item, Usage

SHOP = """
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT, city TEXT, born DATE);
CREATE TABLE purchase (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer(id),
    total REAL, note TEXT);
INSERT INTO customer VALUES (1, 'Ann', 'Oslo', '1990-01-01'), (2, 'Bo', 'O''Hare', NULL);
INSERT INTO purchase VALUES (1, 1, 9.5, 'gift'), (2, 1, 1.5, NULL), (3, 2, 3.0, NULL);
"""
ODD = """
CREATE TABLE "order" ("select" TEXT, "with space" INTEGER, "quo""te" TEXT, "größe" REAL, "1st" X);
CREATE TABLE "count" ("group" INTEGER, "order" TEXT);
INSERT INTO "order" VALUES ('a', 1, 'b', 0.5, x'00');
"""
FLIGHTS = """
CREATE TABLE airport (code TEXT PRIMARY KEY, city TEXT);
CREATE TABLE flight (number INTEGER PRIMARY KEY, source TEXT REFERENCES airport(code),
    target TEXT REFERENCES airport(code));
CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT, boss INTEGER REFERENCES person(id));
CREATE VIEW busy AS SELECT source, COUNT(*) AS n FROM flight GROUP BY source;
"""


def database(folder: Path, script: str) -> Database:
    path = folder / "some.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(script)
    connection.close()
    return Database(str(path))


@pytest.fixture
def shop(tmp_path: Path) -> Database:
    return database(tmp_path, SHOP)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT COUNT(*) FROM customer",
        "SELECT count(*) FROM customer",
        "SELECT name FROM customer WHERE city = 'Oslo'",
        "SELECT name, total FROM customer JOIN purchase ON purchase.customer_id = customer.id",
        "SELECT city, COUNT(*) FROM customer GROUP BY city ORDER BY COUNT(*) DESC LIMIT 1",
        "SELECT name FROM customer WHERE customer.id NOT IN (SELECT customer_id FROM purchase)",
        "SELECT AVG(total) FROM purchase WHERE total BETWEEN 1 AND 5.5",
        "SELECT name FROM customer WHERE name LIKE '%n%' UNION SELECT city FROM customer",
    ],
)
def test_what_is_asked_for_every_day_can_be_said(shop: Database, statement: str) -> None:
    assert accepts(matcher_of(read_schema(shop)), statement)
    shop.explain(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT name FROM nobody",
        "SELECT surname FROM customer",
        "SELECT total FROM customer",
        "SELECT id FROM customer JOIN purchase ON purchase.customer_id = customer.id",
        "SELECT name FROM customer WHERE total > 3",
        "SELECT total FROM purchase WHERE total = 'much'",
        "SELECT name FROM customer WHERE name > 3",
        "SELECT name FROM customer JOIN purchase ON purchase.id = customer.id",
        "SELECT name, COUNT(*) FROM customer",
        "DELETE FROM customer",
        "DROP TABLE customer",
        "SELECT name FROM customer; DROP TABLE customer",
        "PRAGMA writable_schema = 1",
        "SELECT load_extension('x')",
        "SELECT name FROM sqlite_master",
    ],
)
def test_what_has_no_meaning_or_changes_something_cannot(shop: Database, statement: str) -> None:
    assert not accepts(matcher_of(read_schema(shop)), statement)


@pytest.mark.parametrize("script", [SHOP, ODD, FLIGHTS], ids=["shop", "odd", "flights"])
def test_the_database_takes_every_statement_of_the_grammar(tmp_path: Path, script: str) -> None:
    source = database(tmp_path, script)
    start, rng = matcher_of(read_schema(source)), random.Random(5)
    found = [text for _ in range(200) if (text := walk(start, rng)) is not None]
    assert len({*found}) > 60
    for statement in found:
        source.explain(statement)
        source.rows(statement, 1)


def test_a_question_is_the_only_source_of_strings(shop: Database) -> None:
    start = matcher_of(read_schema(shop), "Who lives in New York or O'Hare?")
    where = "SELECT name FROM customer WHERE name ="
    assert accepts(start, f"{where} 'New York'")
    assert accepts(start, f"{where} 'O''Hare'")
    assert accepts(start, f"{where} 'gift'"), "a value that the database holds"
    assert not accepts(start, f"{where} 'Paris'")
    assert not accepts(start, f"{where} 'O'Hare'")


def test_a_hostile_question_stays_within_its_quotes(shop: Database) -> None:
    start = matcher_of(read_schema(shop), "'; DROP TABLE customer; --")
    assert not accepts(start, "SELECT name FROM customer WHERE name = ''; DROP TABLE customer; --'")
    assert not accepts(start, "SELECT name FROM customer WHERE name = ''; DROP TABLE customer; --")
    quoted = "SELECT name FROM customer WHERE name = '''; DROP TABLE customer; --'"
    assert accepts(start, quoted)
    shop.rows(quoted, 1)
    assert shop.rows("SELECT COUNT(*) FROM customer", 1).rows == ((2,),)


def test_nothing_can_be_written_even_by_hand(shop: Database) -> None:
    with pytest.raises(ConstraintFailed, match=r"readonly|not authorized|query_only"):
        shop.rows("INSERT INTO customer VALUES (9, 'x', 'y', NULL)", 1)
    with pytest.raises(ConstraintFailed, match="no such column"):
        shop.explain("SELECT surname FROM customer")


def test_the_model_reads_tables_keys_and_values(shop: Database) -> None:
    text = rendered(read_schema(shop))
    assert "CREATE TABLE customer (\n  id NUMBER PRIMARY KEY,\n  name TEXT, -- 'Ann', 'Bo'" in text
    assert "-- 'O''Hare', 'Oslo'" in text
    assert "FOREIGN KEY (customer_id) REFERENCES customer (id)" in text


def test_only_some_tables_can_be_named_and_only_those_that_are_there(shop: Database) -> None:
    assert [table.name for table in read_schema(shop, ("PURCHASE",)).tables] == ["purchase"]
    with pytest.raises(InputError, match="no table 'orders'"):
        read_schema(shop, ("orders",))


def test_places_that_are_no_database_are_told(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database, but a text that is long enough to be looked at")
    (tmp_path / "empty.db").touch()
    with pytest.raises(FileError, match="there is no database file"):
        Database(str(tmp_path / "none.db"))
    with pytest.raises(FileError, match="not a database"):
        Database(str(tmp_path / "text.db"))
    with pytest.raises(InputError, match="SQLite and PostgreSQL"):
        Database("mysql://localhost/x")
    with pytest.raises(InputError, match="has no tables"):
        read_schema(Database(str(tmp_path / "empty.db")))


POSTGRES = Schema(
    "postgres",
    (
        Table("city", (Column("id", "number", is_key=True), Column("name", "text"))),
        Table(
            "Event",
            (
                Column("on", "date"),
                Column("open", "boolean"),
                Column("data", "opaque"),
                Column("city_id", "number"),
            ),
        ),
    ),
    (Link("Event", ("city_id",), "city", ("id",)),),
)


@pytest.mark.parametrize(
    ("statement", "legal"),
    [
        ('SELECT "Event"."on" FROM "Event"', True),
        ("SELECT Event.on FROM Event", False),
        ("SELECT name, COUNT(*) FROM city GROUP BY 1", True),
        ("SELECT name, COUNT(*) FROM city GROUP BY id", False),
        ('SELECT "Event"."on" FROM "Event" WHERE "Event"."on" > \'2024-02-28\'', True),
        ('SELECT "Event"."on" FROM "Event" WHERE "Event"."on" > \'2023-02-30\'', False),
        ('SELECT MAX("Event".data) FROM "Event"', False),
        ('SELECT DISTINCT name FROM city ORDER BY "id"', False),
    ],
)
def test_postgres_is_held_to_its_stricter_rules(statement: str, legal: bool) -> None:
    assert accepts(matcher_of(POSTGRES), statement) == legal


def answered(text: str, finish: str = "stop") -> Completion:
    return Completion(text=text, finish_reason=finish, usage=Usage())  # type: ignore[arg-type]


def ask(task: AskDatabase, question: str, reply: object):
    steps = task.steps(Item(id="1", text=question), WordBackend())
    try:
        requests = next(steps)
        steps.send([reply])
    except StopIteration as end:
        return end.value, requests[0] if "requests" in locals() else None
    raise AssertionError("one step is enough")


def test_an_answer_has_its_statement_and_the_rows_asked_for(shop: Database) -> None:
    task = AskDatabase(shop, read_schema(shop), rows=1)
    answer, request = ask(task, "names?", answered("SELECT name FROM customer"))
    assert answer.value == {
        "sql": "SELECT name FROM customer",
        "columns": ["name"],
        "rows": [["Ann"]],
        "more": True,
    }
    assert request.constraint.kind == "lark"
    assert request.prompt.shared_messages == 3
    plain, _ = ask(AskDatabase(shop, read_schema(shop)), "names?", answered("SELECT 1"))
    assert plain.value == {"sql": "SELECT 1"}


def test_what_the_database_refuses_or_was_cut_is_an_error(shop: Database) -> None:
    task = AskDatabase(shop, read_schema(shop))
    with pytest.raises(ConstraintFailed, match="does not accept"):
        ask(task, "x", answered("SELECT nothing FROM customer"))
    with pytest.raises(ConstraintFailed, match="not whole"):
        ask(task, "x", answered("SELECT na", "length"))
    with pytest.raises(InputError, match="rows is -1"):
        AskDatabase(shop, read_schema(shop), rows=-1)


def test_an_empty_question_has_an_empty_answer(shop: Database) -> None:
    answer, request = ask(AskDatabase(shop, read_schema(shop)), "  ", always(None))
    assert (answer.value, request) == (None, None)


def test_two_jobs_over_different_tables_are_different_jobs(shop: Database) -> None:
    whole, part = read_schema(shop), read_schema(shop, ("customer",))
    tasks = [AskDatabase(shop, whole), AskDatabase(shop, part), AskDatabase(shop, whole, rows=1)]
    assert len({str(task.identity) for task in tasks}) == 3
