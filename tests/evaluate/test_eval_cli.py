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


def test_a_threshold_file_is_used_by_classify_and_by_eval(desk, tmp_path):
    code, out, _ = desk(*CALIBRATE, "--alpha", "0.9", "--delta", "0.5")
    assert code == 0
    assert "kept over" in out
    file = json.loads((tmp_path / "t.json").read_text())
    assert set(file["questions"]) == {"label"}
    body = json.loads(desk(*EVAL, "--json", "--thresholds", "t.json")[1])
    threshold = file["questions"]["label"]["threshold"]
    assert body["kept"]["n"] == threshold["n_kept"]
    assert body["kept"]["coverage"] == pytest.approx(threshold["n_kept"] / 30)
    code, out, _ = desk(
        "classify", "rows.jsonl", "--labels", "bad,good", "--thresholds", "t.json", "--quiet"
    )
    assert code == 0
    kept = [json.loads(line)["value"]["keep"] for line in out.splitlines()]
    assert sum(kept) == threshold["n_kept"]


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
    assert "another model, prompt or label list" in err


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
        (("eval", "singing", "--data", "rows.jsonl"), "singing"),
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
