"""`vedette eval` and `vedette calibrate` from end to end on a tiny random model."""

from __future__ import annotations

import json
import random

import pytest

from vedette.cli.main import run


@pytest.fixture
def desk(tmp_path, tiny_full, capfd, monkeypatch):
    monkeypatch.setenv("VEDETTE_OFFLINE", "1")
    monkeypatch.setenv("VEDETTE_THREADS", "1")
    monkeypatch.setenv("VEDETTE_CONTEXT_TOKENS", "2048")
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("VEDETTE_MODEL", str(tiny_full))
    monkeypatch.chdir(tmp_path)
    for name in ("empty", "empty.csv", "empty.jsonl"):
        (tmp_path / name).write_text("")
    rng = random.Random(1)
    rows = [
        {"text": f"row {i} of some {rng.choice('abcdef')}", "label": ("good", "bad")[i % 2]}
        for i in range(30)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def call(*tokens: str) -> tuple[int, str, str]:
        code = run(tokens)
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


EVAL = ("eval", "classify", "--data", "rows.jsonl", "--quiet")
CALIBRATE = ("calibrate", "classify", "--data", "rows.jsonl", "--quiet", "--out", "t.json")


def test_the_report_is_one_json_object(desk):
    code, out, _ = desk(*EVAL, "--json")
    body = json.loads(out)
    assert code == 0
    assert (body["n"], body["errors"], body["task"]) == (30, 0, "classify")
    assert {"accuracy", "ece", "items_per_s", "tokens"} <= set(body)
    assert [one["label"] for one in body["per_class"]] == ["bad", "good"]
    assert len(body["wrong"]) == round(30 * (1 - body["accuracy"]))


def test_the_same_seed_asks_the_same_rows(desk):
    def rows_of(seed: str) -> list[tuple[str, int]]:
        body = json.loads(desk(*EVAL, "--json", "--limit", "9", "--seed", seed)[1])
        return [(one["label"], one["n"]) for one in body["per_class"]]

    assert rows_of("1") == rows_of("1")
    assert len({tuple(rows_of(seed)) for seed in "123456"}) > 1


def test_people_get_tables_and_a_page(desk, tmp_path):
    code, out, _ = desk(*EVAL, "--html", "r.html")
    assert code == 0
    assert "precision" in out
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    "tokens",
    [
        (*EVAL, "--html"),
        ("calibrate", *EVAL[1:], "--out"),
        ("eval", "decide", "--data", "rows.jsonl", "--ask", "ok=Good?", "--html"),
        ("calibrate", "decide", "--data", "rows.jsonl", "--ask", "ok=Good?", "--out"),
    ],
)
def test_a_file_that_cannot_be_written_is_told_before_a_row_is_asked(desk, monkeypatch, tokens):
    monkeypatch.setattr("vedette.cli.labelled_rows.LabelledRows.opened", None)
    code, _, err = desk(*tokens, ".")
    assert (code, "cannot write .: it is no file" in err) == (2, True)


LEARNT = ("--data", "learnt.jsonl", "--quiet")


@pytest.fixture
def learnt(desk, tmp_path):
    """Rows whose right answers are what the model says, so that there is something to keep."""
    lines = desk("classify", "rows.jsonl", "--labels", "bad,good", "--prior", "none", "--quiet")[1]
    asked = ["--ask", "ok=Good?", "--ask", "way=Which? up|down", "--prior", "none", "--quiet"]
    answers = desk("decide", "rows.jsonl", *asked)[1]
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    for row, line, answer in zip(rows, lines.splitlines(), answers.splitlines(), strict=True):
        row["label"] = json.loads(line)["value"]["label"]
        said = json.loads(answer)["value"]["answers"]
        row["ok"], row["way"] = said["ok"]["noul"] >= 0.5, said["way"]["choice"]
    (tmp_path / "learnt.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return desk


def test_a_threshold_file_is_used_by_classify_and_by_eval(learnt, tmp_path):
    labels = ("--labels", "bad,good")
    calibrate = ("calibrate", "classify", *LEARNT, *labels, "--out", "t.json", "--alpha", "0.3")
    code, out, _ = learnt(*calibrate)
    assert code == 0
    assert "kept over" in out
    assert set(json.loads((tmp_path / "t.json").read_text())["questions"]) == {"label"}
    evaluated = ("eval", "classify", *LEARNT, *labels, "--json", "--thresholds", "t.json")
    body = json.loads(learnt(*evaluated)[1])
    assert body["kept"]["n"] > 8
    assert body["kept"]["coverage"] == pytest.approx(body["kept"]["n"] / 30)
    code, out, _ = learnt("classify", "rows.jsonl", *labels, "--thresholds", "t.json", "--quiet")
    assert code == 0
    kept = [json.loads(line)["value"]["keep"] for line in out.splitlines()]
    assert sum(kept) == body["kept"]["n"]


ASKED = ("--ask", "ok=Good?", "--ask", "way=Which? up|down")


def test_closed_questions_have_a_report_and_a_threshold_each(learnt, tmp_path):
    calibrate = ("calibrate", "decide", *LEARNT, *ASKED, "--out", "t.json", "--alpha", "0.3")
    code, out, _ = learnt(*calibrate)
    assert code == 0
    assert "ok: kept over" in out
    assert set(json.loads((tmp_path / "t.json").read_text())["questions"]) == {"ok", "way"}
    evaluated = ("eval", "decide", *LEARNT, *ASKED, "--thresholds", "t.json", "--html", "r.html")
    body = json.loads(learnt(*evaluated, "--json")[1])
    assert list(body) == ["ok", "way"]
    assert [label["label"] for label in body["way"]["per_class"]] == ["up", "down"]
    assert "decide way" in (tmp_path / "r.html").read_text()
    code, out, _ = learnt("decide", "rows.jsonl", *ASKED, "--thresholds", "t.json", "--quiet")
    assert code == 0
    answers = [json.loads(line)["value"]["answers"] for line in out.splitlines()]
    for name in ("ok", "way"):
        assert sum(answer[name]["keep"] for answer in answers) == body[name]["kept"]["n"]
    assert body["ok"]["kept"]["n"] > 8


def test_closed_questions_need_not_be_answered_by_every_row(desk, tmp_path):
    rows = [
        {"text": "one", "ok": "yes", "how": 1},
        {"text": "two", "ok": None, "how": "low"},
        {"text": "three", "how": "high"},
    ]
    (tmp_path / "few.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = ("--data", "few.jsonl", "--ask", "ok=Good?", "--ask", "how=How much? low<high")
    body = json.loads(desk("eval", "decide", *asked, "--quiet", "--json")[1])
    assert (body["ok"]["n"], body["how"]["n"]) == (1, 3)
    assert "mae" not in body["ok"]
    assert 0 <= body["how"]["mae"] <= 1
    code, out, _ = desk("eval", "decide", *asked, "--quiet")
    assert code == 0
    assert "mean error in levels" in out


@pytest.mark.parametrize(
    "changed",
    [
        ("--ask", "ok=Good or not?", "--ask", "way=Which? up|down"),
        ("--ask", "way=Which? up|down", "--ask", "ok=Good?"),
        (*ASKED, "--both-orders"),
        (*ASKED, "--instructions", "Be kind."),
    ],
)
def test_a_threshold_file_for_other_questions_is_refused(learnt, changed):
    assert learnt("calibrate", "decide", *LEARNT, *ASKED, "--out", "t.json")[0] == 0
    code, out, err = learnt("decide", "rows.jsonl", *changed, "--thresholds", "t.json", "--quiet")
    assert (code, out) == (2, "")
    assert "another model or prompt, or other choices" in err


def test_a_promise_that_cannot_be_kept_is_an_answer(desk, tmp_path):
    code, out, _ = desk(*CALIBRATE)
    assert code == 0
    assert "no threshold can promise" in out
    assert json.loads((tmp_path / "t.json").read_text())["questions"]["label"]["threshold"] is None
    body = json.loads(desk(*EVAL, "--json", "--thresholds", "t.json")[1])
    assert body["kept"] == {"coverage": 0.0, "n": 0, "error": None}


@pytest.mark.parametrize(
    "changed", [["--labels", "good,bad"], ["--labels", "bad,good", "--instructions", "Be kind."]]
)
def test_a_threshold_file_for_something_else_is_refused(desk, changed):
    assert desk(*CALIBRATE)[0] == 0
    tokens = ["classify", "rows.jsonl", "--thresholds", "t.json", "--quiet", *changed]
    code, out, err = desk(*tokens)
    assert (code, out) == (2, "")
    assert "another model or prompt, or other choices" in err


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ((*CALIBRATE, "--alpha", "0"), "alpha is 0.0"),
        ((*EVAL, "--labels", "good,ugly"), "not in the label list"),
        ((*EVAL, "--label-field", "colour"), "no field 'colour'"),
        ((*EVAL, "--limit", "0"), "--limit is 0"),
        ((*EVAL, "--thresholds", "rows.jsonl"), "not JSON"),
        ((*EVAL, "--thresholds", "missing.json"), "cannot read the threshold file"),
        (("eval", "classify", "--data", "nothing.jsonl"), "nothing.jsonl"),
        (("eval", "classify", "--data", "empty"), "there are no rows in empty"),
        (("eval", "classify", "--data", "empty.csv"), "there are no rows in empty.csv"),
        (("eval", "classify", "--data", "empty.jsonl"), "there are no rows in empty.jsonl"),
        (("eval", "decide", "--data", "empty", "--ask", "Ok?"), "there are no rows in empty"),
        (("eval", "singing", "--data", "rows.jsonl"), "singing"),
        (("eval", "decide", "--data", "rows.jsonl"), "there is no question"),
        (("eval", "decide", "--data", "rows.jsonl", "--ask", "ok=Ok?"), "none of the fields 'ok'"),
        (("eval", "decide", "--data", "rows.jsonl", "--ask", "label=Ok?"), "no answer to the"),
        (("calibrate", "decide", "--data", "rows.jsonl", "--ask", "label=Which? good|bad"), "out"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(desk, tokens, message):
    code, out, err = desk(*tokens)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_labels_by_the_nearest_examples_are_evaluated_and_calibrated(desk, tmp_path):
    shown = [{"text": f"row {i} of some {x}", "label": x} for i in range(5) for x in "abcdef"]
    rows = [*shown, {"text": "q" * 40, "label": "none of these"}]
    for name, lines in (("shown.jsonl", shown), ("rows.jsonl", rows)):
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    options = ("--examples", "shown.jsonl", "--out-of-scope", "none of these")
    code, out, _ = desk(*EVAL, *options, "--json")
    body = json.loads(out)
    assert (code, body["n"], body["errors"]) == (0, 31, 0)
    assert [one["label"] for one in body["per_class"]] == [*"abcdef", "none of these"]
    assert desk(*CALIBRATE, *options, "--alpha", "0.9")[0] == 0
    kept = json.loads(desk(*EVAL, *options, "--thresholds", "t.json", "--json")[1])["kept"]
    assert kept["coverage"] > 0
