"""`vedette extract` over pictures into a table, from end to end on a tiny random model."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

pytest.importorskip("PIL")
pytest.importorskip("rapidocr")
pytest.importorskip("onnxruntime")
pytest.importorskip("sqlalchemy")

from PIL import Image, ImageDraw, ImageFont

from vedette.cli.main import run

SCHEMA = {
    "type": "object",
    "properties": {
        "word": {"type": ["string", "null"], "x-verbatim": True, "maxLength": 20},
        "kind": {"enum": ["bill", "letter"]},
        "paid": {"type": "boolean"},
    },
    "required": ["word", "kind", "paid"],
    "additionalProperties": False,
}


def drawn(path: Path, text: str) -> None:
    image = Image.new("RGB", (300, 60), "white")
    ImageDraw.Draw(image).text((12, 14), text, fill="black", font=ImageFont.load_default(size=28))
    image.save(path)


@pytest.fixture
def vedette(tmp_path, tiny_full, capfd, monkeypatch):
    monkeypatch.setenv("VEDETTE_OFFLINE", "1")
    monkeypatch.setenv("VEDETTE_THREADS", "1")
    monkeypatch.setenv("VEDETTE_CONTEXT_TOKENS", "2048")
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "pics").mkdir()
    drawn(tmp_path / "pics/a.png", "Bookshop")
    drawn(tmp_path / "pics/b.jpg", "Dear Ann")
    (tmp_path / "pics/c.jpg").write_bytes((tmp_path / "pics/b.jpg").read_bytes()[:900])

    def call(*tokens: str):
        code = run(["extract", *tokens, "--model", str(tiny_full)])
        out, err = capfd.readouterr()
        return code, out, err

    return call


def rows_of(table: str, columns: str) -> list[tuple]:
    connection = sqlite3.connect("out.db")
    try:
        return connection.execute(f"SELECT {columns} FROM {table} ORDER BY _id").fetchall()
    finally:
        connection.close()


def test_a_folder_of_pictures_goes_into_a_table_and_the_same_command_does_nothing_more(vedette):
    into = "sqlite:///out.db?table=papers"
    command = ("pics", "--schema", "schema.json", "--into", into)
    code, out, err = vedette(*command)
    assert (code, out) == (1, "")
    assert "the table papers of sqlite:///out.db has 2 rows, papers_errors 1" in err
    rows = rows_of("papers", "_id, word, kind, paid, _read_by, _confidence")
    assert [row[0] for row in rows] == ["pics/a.png", "pics/b.jpg"]
    for (_, word, kind, paid, read_by, confidence), text in zip(
        rows, ("Bookshop", "Dear Ann"), strict=True
    ):
        assert word is None or word in text
        assert kind in ("bill", "letter")
        assert paid in (0, 1)
        assert read_by == "ocr"
        assert confidence > 0.9
    errors = rows_of("papers_errors", "_id, code, message")
    assert errors[0][:2] == ("pics/c.jpg", "invalid_picture")
    assert "damaged or cut" in errors[0][2]
    code, out, err = vedette(*command, "--json")
    summary = json.loads(out)
    assert (code, summary["asked"], summary["from_journal"], summary["bad_rows"]) == (1, 0, 2, 1)
    assert rows_of("papers", "_id, word, kind, paid, _read_by, _confidence") == rows


def test_result_lines_are_written_too_where_they_are_asked_for(vedette):
    options = ("--schema", "schema.json", "--into", "sqlite:///out.db", "--out", "out.jsonl")
    code, _, _ = vedette("pics/a.png", *options)
    assert code == 0
    (line,) = map(json.loads, Path("out.jsonl").read_text().splitlines())
    assert line["picture"]["text"] == "Bookshop"
    assert line["picture"]["read_by"] == "ocr"
    start, end = line["spans"]["/word"] if line["value"]["word"] else (0, 0)
    assert line["picture"]["text"][start:end] == (line["value"]["word"] or "")
    assert len(rows_of("results", "_id")) == 1


def test_the_prompt_of_a_picture_has_the_text_that_was_read(vedette):
    code, out, _ = vedette("pics/a.png", "--schema", "schema.json", "--show-prompt")
    assert code == 0
    assert "<|im_start|>user\nBookshop<|im_end|>" in out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--into", "out.db"], "--into takes a URL"),
        (["--into", "sqlite:///pics"], "cannot write to sqlite:///pics"),
        (["--into", "mysql://host/db"], "the database is mysql"),
        (["--text-field", "body"], "'body' is asked for"),
        (["--fetch-pictures"], "which --offline forbids"),
    ],
)
def test_a_command_that_cannot_run_says_why_in_one_line(vedette, options, said):
    code, out, err = vedette("pics/a.png", "--schema", "schema.json", *options)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
