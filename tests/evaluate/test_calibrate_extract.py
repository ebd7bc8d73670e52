"""`vedette calibrate extract` from end to end on a tiny random model."""

from __future__ import annotations

import json

import pytest

from vedette.cli.main import run

SCHEMA = {
    "type": "object",
    "properties": {"level": {"enum": ["INFO", "ERROR", "WARN"]}},
    "required": ["level"],
}
OTHER = {"INFO": "ERROR", "ERROR": "WARN", "WARN": "INFO"}
TASK = ("--schema", "schema.json", "--quiet")
ASKED = ("calibrate", "extract", *TASK, "--out", "t.json")
CALIBRATE = (*ASKED, "--alpha", "0.3")


@pytest.fixture
def desk(tmp_path, tiny_full, capfd, monkeypatch):
    monkeypatch.setenv("VEDETTE_OFFLINE", "1")
    monkeypatch.setenv("VEDETTE_THREADS", "1")
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("VEDETTE_MODEL", str(tiny_full))
    monkeypatch.chdir(tmp_path)

    def call(*tokens: str) -> tuple[int, str, str]:
        code = run(tokens)
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    texts = [f"row {i} of some" for i in range(30)]
    (tmp_path / "rows.txt").write_text("\n".join(texts))
    _, out, _ = call("extract", "rows.txt", *TASK)
    values = [json.loads(line)["value"] for line in out.splitlines()]
    for name, found in (
        ("right", values),
        ("wrong", [{"level": OTHER[value["level"]]} for value in values]),
    ):
        rows = [{"text": t, "value": value} for t, value in zip(texts, found, strict=True)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return call


def test_the_file_is_used_by_extract(desk, tmp_path):
    code, out, _ = desk(*CALIBRATE, "--data", "right.jsonl")
    assert code == 0
    assert "objects: kept over" in out
    above = json.loads((tmp_path / "t.json").read_text())["threshold"]["above"]
    code, out, _ = desk("extract", "rows.txt", *TASK, "--thresholds", "t.json")
    assert code == 0
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["keep"] for line in lines] == [line["confidence"] > above for line in lines]
    assert any(line["keep"] for line in lines)
    assert 0 < min(line["confidence"] for line in lines) < 1


def test_where_nothing_is_right_nothing_is_kept(desk):
    code, out, _ = desk(*CALIBRATE, "--data", "wrong.jsonl")
    assert code == 0
    assert "objects: no threshold can promise" in out
    code, out, _ = desk("extract", "rows.txt", *TASK, "--thresholds", "t.json")
    assert not any(json.loads(line)["keep"] for line in out.splitlines())


def test_machines_get_the_file(desk, tmp_path):
    code, out, _ = desk(*CALIBRATE, "--data", "right.jsonl", "--json")
    assert code == 0
    assert json.loads(out) == json.loads((tmp_path / "t.json").read_text())


def test_another_schema_is_refused(desk, tmp_path):
    assert desk(*CALIBRATE, "--data", "right.jsonl")[0] == 0
    tokens = ("extract", "rows.txt", "--fields", "level", "--thresholds", "t.json", "--quiet")
    code, out, err = desk(*tokens)
    assert (code, out) == (2, "")
    assert "another model, schema or prompt" in err


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (("--data", "right.jsonl", "--fields", "level"), "either --schema FILE or --fields LIST"),
        (("--data", "right.jsonl", "--alpha", "1"), "alpha is 1.0"),
        (("--data", "right.jsonl", "--value-field", "object"), "no field 'object'"),
    ],
)
def test_what_is_wrong_is_said_before_a_row_is_asked(desk, monkeypatch, tokens, message):
    monkeypatch.setattr("vedette.cli.labelled_rows.LabelledRows.opened", None)
    code, _, err = desk(*ASKED, *tokens)
    assert code == 2
    assert message in err
