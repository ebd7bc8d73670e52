"""`vedette eval extract`: rows and fields counted."""

from __future__ import annotations

import json

import pytest

from vedette.cli.main import run
from vedette.evaluate.extract import ExtractReport, ExtractVerdict


def verdict(right, answer, error="") -> ExtractVerdict:
    return ExtractVerdict(id="1", text="x", right=right, answer=answer, error=error)


def test_rows_and_fields_are_counted():
    verdicts = (
        verdict({"a": 1, "b": None}, {"a": 1, "b": None}),
        verdict({"a": 1, "b": "x"}, {"a": 1, "b": "y"}),
        verdict({"a": 1}, {"a": 2}),  # rightly without b
        verdict({"a": None, "b": None}, None, error="no answer"),
    )
    report = ExtractReport(
        task="extract", model="m", data="d", verdicts=verdicts, names=("a", "b"), seconds=1.0
    )
    assert report.accuracy == 0.25
    assert report.fields == {"a": 0.5, "b": 0.5}
    body = report.as_dict()
    assert (body["n"], body["errors"], len(report.wrong)) == (4, 1, 3)


@pytest.fixture
def desk(tmp_path, tiny_full, capfd, monkeypatch):
    for name, value in {"OFFLINE": "1", "THREADS": "1", "CONTEXT_TOKENS": "2048"}.items():
        monkeypatch.setenv(f"VEDETTE_{name}", value)
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("VEDETTE_MODEL", str(tiny_full))
    monkeypatch.chdir(tmp_path)

    def call(*tokens: str) -> tuple[int, str, str]:
        code = run(tokens)
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


ASKED = ("eval", "extract", "--data", "rows.jsonl", "--fields", "level:A|B, ok:bool", "--quiet")


def rows(tmp_path, *values: object) -> None:
    lines = (json.dumps({"text": f"row {i}", "value": v}) for i, v in enumerate(values))
    (tmp_path / "rows.jsonl").write_text("".join(line + "\n" for line in lines))


def test_what_the_task_answers_is_right_and_all_else_is_wrong(desk, tmp_path):
    rows(tmp_path, *[{"level": None, "ok": None}] * 6)
    body = json.loads(desk(*ASKED, "--json")[1])
    assert (body["n"], body["errors"], body["task"]) == (6, 0, "extract")
    said = {one["text"]: one["answer"] for one in body["wrong"]}
    learnt = [said.get(f"row {i}", {"level": None, "ok": None}) for i in range(6)]
    rows(tmp_path, *learnt)
    body = json.loads(desk(*ASKED, "--json")[1])
    assert (body["accuracy"], body["fields"]) == (1.0, {"level": 1.0, "ok": 1.0})
    learnt[0] = {**learnt[0], "ok": not learnt[0]["ok"]}
    rows(tmp_path, *learnt)
    code, out, _ = desk(*ASKED)
    assert code == 0
    assert "83.3%" in out
    assert "right ok" in out


def test_a_right_answer_that_does_not_fit_the_schema_is_refused(desk, tmp_path):
    rows(tmp_path, {"level": "A", "ok": True}, {"level": "C", "ok": True})
    code, _, err = desk(*ASKED)
    assert code == 2
    assert "row 2: its value does not fit the schema" in err


def test_without_a_schema_nothing_is_asked(desk, tmp_path):
    rows(tmp_path, {"a": 1})
    code, _, err = desk("eval", "extract", "--data", "rows.jsonl")
    assert (code, "extract needs either --schema FILE or --fields LIST" in err) == (2, True)
