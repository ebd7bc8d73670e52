"""`vedette sql` on a tiny random model: every statement is one that the database takes."""

from __future__ import annotations

import json
import sqlite3

import pytest

pytest.importorskip("sqlalchemy")
pytest.importorskip("sqlglot")

from vedette.cli.main import run


@pytest.fixture
def vedette(tmp_path, tiny_full, capfd, monkeypatch):
    monkeypatch.setenv("VEDETTE_OFFLINE", "1")
    monkeypatch.setenv("VEDETTE_THREADS", "1")
    monkeypatch.setenv("VEDETTE_CONTEXT_TOKENS", "2048")
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect("shop.db") as connection:
        connection.execute("CREATE TABLE item (name TEXT, price REAL)")
        connection.execute("INSERT INTO item VALUES ('tea', 2.5), ('rice', 1)")
    connection.close()
    (tmp_path / "wide.db").touch()
    (tmp_path / "in.txt").write_text("How much is tea?\n\nx'; DROP TABLE item; --\n")

    def call(*tokens: str):
        code = run(["sql", "in.txt", *tokens, "--model", str(tiny_full)])
        out, err = capfd.readouterr()
        return code, out, err

    return call


def test_statements_are_planned_and_their_rows_come_along(vedette):
    code, out, _ = vedette("--database", "shop.db", "--rows", "1")
    lines = [json.loads(line) for line in out.splitlines()]
    assert (code, lines[1]["value"]) == (0, None)
    with sqlite3.connect("shop.db") as connection:
        for line in (lines[0], lines[2]):
            value = line["value"]
            found = connection.execute(value["sql"]).fetchall()
            assert value["rows"] == [list(row) for row in found[:1]]
            assert value["more"] == (len(found) > 1)
        assert connection.execute("SELECT COUNT(*) FROM item").fetchone() == (2,)
    connection.close()


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (["--database", "none.db"], "there is no database file none.db"),
        (["--database", "in.txt"], "not a database"),
        (["--database", "wide.db"], "has no tables"),
        (["--database", "mysql://localhost/x"], "SQLite and PostgreSQL"),
        (["--database", "shop.db", "--tables", "item,order"], "no table 'order'"),
        (["--database", "shop.db", "--tables", "item,"], "empty name"),
        (["--database", "shop.db", "--rows", "-1"], "rows is -1"),
        (["--database", "shop.db", "--values", "-1"], "--values is -1"),
        (["--database", "shop.db", "--max-tokens", "0"], "max_tokens is 0"),
        ([], "--database"),
    ],
)
def test_a_command_that_cannot_run_says_why_in_one_line(vedette, tokens, said):
    code, out, err = vedette(*tokens)
    assert (code, out) == (2, "")
    assert err.startswith("vedette: ")
    assert err.count("\n") == 1
    assert said in err
