"""Answers in a SQLite table: typed, put twice without doubling, errors kept, nothing injected."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy")

from stores import HOSTILE, SCHEMA, VALUE, bad, ok, sha

from vedette.errors import CapabilityMissing, FileError, InputError
from vedette.tables import open_store
from vedette.tables import store as store_module


class Base:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = f"sqlite:///{path}?table=bills"

    def ask(self, statement: str) -> list[tuple]:
        connection = sqlite3.connect(self.path)
        try:
            return connection.execute(statement).fetchall()
        finally:
            connection.close()

    def put(self, *rows: tuple[str, bytes], schema=SCHEMA, url: str | None = None) -> list[str]:
        store = open_store(url or self.url, schema)
        for name, body in rows:
            store.put(f"{name}.jpg", sha(name), body)
        store.finish()
        store.close()
        return store.notes


@pytest.fixture
def base(tmp_path: Path) -> Base:
    return Base(tmp_path / "bills.db")


def test_an_answer_is_a_row_of_typed_columns(base):
    picture = {"picture": {"sha256": sha("a"), "read_by": "ocr", "confidence": 0.9}}
    notes = base.put(("a", ok(**picture)))
    assert notes == [f"the table bills of sqlite:///{base.path} has 1 row"]
    ((key, row_id, read_by, confidence, _at, *values),) = base.ask("SELECT * FROM bills")
    assert (key, row_id, read_by, confidence) == (sha("a"), "a.jpg", "ocr", 0.9)
    assert values == [
        VALUE["company"],
        "2026-01-31",
        "2026-01-31 10:00:00.000000",
        2**62,
        19.7,
        1,
        VALUE["kind"],
        '[{"a": "\\u8336"}, null]',
    ]
    types = {name: kind for _, name, kind, *_ in base.ask("PRAGMA table_info(bills)")}
    assert types["day"] == "DATE"
    assert types["n"] == "BIGINT"
    assert types["lines"] == "JSON"
    nullable = {
        name: not notnull for _, name, _, notnull, *_ in base.ask("PRAGMA table_info(bills)")
    }
    assert nullable["company"]
    assert not nullable["day"]


def test_putting_again_changes_rows_and_doubles_none(base):
    base.put(("a", ok()), ("b", ok()))
    base.put(("a", ok({**VALUE, "n": 7})), ("b", ok()), ("c", ok()))
    assert base.ask("SELECT _id, n FROM bills ORDER BY 1") == [
        ("a.jpg", 7),
        ("b.jpg", 2**62),
        ("c.jpg", 2**62),
    ]


def test_errors_are_kept_beside_and_leave_when_there_is_an_answer(base):
    base.put(("a", ok()), ("b", bad()))
    assert base.ask("SELECT _id, code, message, hint FROM bills_errors") == [
        ("b.jpg", "invalid_picture", "is no picture", "draw one")
    ]
    notes = base.put(("a", bad()), ("b", ok()))
    assert base.ask("SELECT _id FROM bills_errors") == [("a.jpg",)]
    assert base.ask("SELECT count(*) FROM bills") == [(2,)]
    assert "bills_errors 1" in notes[0]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({**VALUE, "n": 2**63}, "n: 9223372036854775808 cannot be kept as integer"),
        ({**VALUE, "day": "2026-02-30"}, "day"),
        ({**VALUE, "day": None}, "NOT NULL"),
        ({**VALUE, "kind": "other"}, "CHECK"),
        ({**VALUE, "more": 1}, "'more', for which there is no column"),
        (None, "the answer is empty"),
    ],
)
def test_an_answer_that_does_not_fit_is_an_error_with_its_value_and_the_others_stay(
    base, value, said
):
    base.put(("a", ok()), ("b", ok(value)), ("c", ok()))
    assert base.ask("SELECT _id FROM bills ORDER BY 1") == [("a.jpg",), ("c.jpg",)]
    ((row_id, code, message, kept),) = base.ask(
        "SELECT _id, code, message, value FROM bills_errors"
    )
    assert (row_id, code) == ("b.jpg", "not_storable")
    assert said in message
    assert (kept is None) == (value is None)


def test_the_same_content_is_one_row_whichever_way_it_came(base):
    base.put(("a", bad()), ("a", ok()), ("b", ok()), ("b", bad()))
    assert base.ask("SELECT _id FROM bills") == [("a.jpg",)]
    assert base.ask("SELECT _id FROM bills_errors") == [("b.jpg",)]


def test_many_rows_are_written_in_transactions(base, monkeypatch):
    monkeypatch.setattr(store_module, "BATCH_ROWS", 3)
    store = open_store(base.url, SCHEMA)
    for number in range(7):
        store.put(f"{number}", sha(f"{number}"), ok())
    assert base.ask("SELECT count(*) FROM bills") == [(6,)]  # a crash now loses the last
    store.finish()
    store.close()
    assert base.ask("SELECT count(*) FROM bills") == [(7,)]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_quoted_wherever_they_come_from(base, name):
    schema = {"properties": {name: {"enum": [name, "x"]}, "b": {"type": "string"}}}
    from urllib.parse import quote

    url = f"sqlite:///{base.path}?table={quote(name)}"
    base.put(("a", ok({name: name, "b": "1"})), schema=schema, url=url)
    base.put(("a", ok({name: "x", "b": "2"})), schema=schema, url=url)
    quoted = '"' + name.replace('"', '""') + '"'
    assert base.ask(f"SELECT {quoted}, b FROM {quoted}") == [("x", "2")]
    assert len(base.ask("SELECT name FROM sqlite_master WHERE type = 'table'")) == 2


# Tables that are there


def test_a_table_that_differs_is_refused_with_all_that_differs(base):
    connection = sqlite3.connect(base.path)
    connection.execute(
        "CREATE TABLE bills (_sha256 TEXT, _id TEXT, _read_by TEXT, _confidence DOUBLE, "
        "_written_at DATETIME, company TEXT NOT NULL, day TEXT, n BIGINT, owner TEXT NOT NULL)"
    )
    connection.commit()
    connection.close()
    with pytest.raises(InputError) as caught:
        open_store(base.url, SCHEMA)
    for said in (
        "the table bills",
        "primary key is missing, not _sha256",
        "company takes no null",
        "day holds text, not date",
        "no column total",
        "its column owner must have a value",
    ):
        assert said in caught.value.message
    assert "?table=" in (caught.value.hint or "")


def test_a_table_with_more_columns_that_may_be_null_is_taken(base):
    base.put(("a", ok()))
    connection = sqlite3.connect(base.path)
    connection.execute("ALTER TABLE bills ADD COLUMN note TEXT")
    connection.execute("UPDATE bills SET note = 'mine'")
    connection.commit()
    connection.close()
    base.put(("a", ok({**VALUE, "n": 1})))
    assert base.ask("SELECT n, note FROM bills") == [(1, "mine")]


def test_a_database_that_cannot_be_written_is_said_in_a_line(tmp_path):
    (tmp_path / "text.db").write_text("this is no database at all, only text " * 40)
    for path in (tmp_path / "text.db", tmp_path / "none" / "a.db"):
        with pytest.raises(FileError, match=r"cannot write to sqlite:///.*: "):
            open_store(f"sqlite:///{path}", SCHEMA)


def test_a_locked_database_ends_the_job_and_nothing_is_lost(base, monkeypatch):
    store = open_store(f"{base.url}", SCHEMA)
    store._engine = store_module.create_engine(
        f"sqlite:///{base.path}", connect_args={"timeout": 0}
    )
    store.put("a", sha("a"), ok())
    other = sqlite3.connect(base.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(FileError, match="locked") as caught:
        store.finish()
    assert "the same command goes on" in (caught.value.hint or "")
    other.execute("COMMIT")
    other.close()
    store.finish()
    store.close()
    assert base.ask("SELECT count(*) FROM bills") == [(1,)]


def test_without_sqlalchemy_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setattr("vedette.tables.find_spec", lambda _name: None)
    with pytest.raises(CapabilityMissing) as caught:
        open_store("sqlite:///a.db", SCHEMA)
    assert caught.value.hint == "pip install 'vedette[sql]'"
