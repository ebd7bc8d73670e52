"""`vedette bench` from the command line: a whole measurement, and every way to ask wrongly.

The engine is real, with a tiny random model; the llama-server is a program that looks like one.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import orjson
import psutil
import pytest
from fake_llama_server import write_fake

from vedette.cli.main import run

SCHEMA = {
    "type": "object",
    "properties": {"level": {"enum": ["INFO", "ERROR"]}},
    "required": ["level"],
    "additionalProperties": False,
}
LEVEL = {"enum": ["INFO", "ERROR"], "x-evidence": {"ERROR": "fail"}}
EVIDENCE = {**SCHEMA, "properties": {"level": LEVEL}}
LINES = ["all is well", "it did fail", "", "fine", "fail again", "cut this", "refuse this"]
EXPECTED = ["INFO", "ERROR", None, "INFO", "ERROR", "INFO", "INFO"]


@pytest.fixture
def files(tmp_path: Path, tiny_full: Path) -> dict[str, str]:
    """Everything that a measurement takes, and some things that it does not."""
    contents = {
        "data": "\n".join(LINES) + "\n",
        "schema": orjson.dumps(SCHEMA).decode(),
        "evidence": orjson.dumps(EVIDENCE).decode(),
        "expected": "".join(
            orjson.dumps({"id": n, "value": {"level": level}}).decode() + "\n"
            for n, level in enumerate(EXPECTED, start=1)
        ),
        "labelled": "".join(
            orjson.dumps({"text": text, "label": label}).decode() + "\n"
            for text, label in [("good", "yes"), ("bad", "no"), ("", "no"), ("fine", "yes")]
        ),
        "others": '{"id": 99, "value": 1}\n',
        "broken": "{",
        "noschema": '{"type": "strnig"}',
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "labelled").rename(tmp_path / "labelled.jsonl")
    (tmp_path / "plain").write_text("not to be run")
    paths = {name: str(tmp_path / name) for name in (*contents, "plain")}
    return paths | {
        "labelled": str(tmp_path / "labelled.jsonl"),
        "peer": str(write_fake(tmp_path)),
        "crash": str(write_fake(tmp_path, "crash")),
        "none": str(tmp_path / "none"),
        "model": str(tiny_full),
        "folder": str(tmp_path),
    }


def batch(files: dict[str, str], *more: str, **changed: str) -> list[str]:
    given = {"data": "data", "schema": "schema", "peer": "peer", "model": "model"} | changed
    options = [word for name, file in given.items() for word in (f"--{name}", files[file])]
    return ["bench", "batch", *options, "--offline", *more]


def classify(
    files: dict[str, str], *more: str, labels: str = "yes,no", **changed: str
) -> list[str]:
    given = {"data": "labelled", "peer": "peer", "model": "model"} | changed
    options = [word for name, file in given.items() for word in (f"--{name}", files[file])]
    return ["bench", "classify", *options, "--labels", labels, "--offline", *more]


def measured(tokens: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    code = run([*tokens, "--json"])
    out, err = capsys.readouterr()
    assert code == 0, err
    return orjson.loads(out)


def test_a_batch_is_measured_on_both_sides_and_judged(files, capsys):
    tokens = batch(files, "--expected", files["expected"], "--np", "2,1", "--calibration", "2")
    found = measured(tokens, capsys)
    setting = found["setting"]
    assert (setting["items"], setting["blank"], setting["refused"]) == (6, 1, 0)
    tried = list(found["peer"]["calibration"])
    assert tried[:2] == ["llama-server -np 2", "llama-server -np 1"]
    assert tried[2:] in (["llama-server -np 2 -fa off"], ["llama-server -np 1 -fa off"])
    ours, theirs = found["sides"]
    assert (ours["name"], ours["errors"], ours["valid"]) == ("vedette", 0, 1.0)
    assert ours["forced_tokens"] > 0
    rates = found["peer"]["calibration"]
    assert theirs["name"] == max(rates, key=rates.__getitem__)
    assert (theirs["errors"], theirs["valid"]) == (2, pytest.approx(4 / 6))
    assert theirs["reasons"] == [
        "the answer is cut off",
        "HTTP 400: request exceeds the context",
    ]
    assert theirs["accuracy"]["rows"] == 6
    assert theirs["accuracy"]["fields"] == {"level": pytest.approx(4 / 6)}
    assert (theirs["prompt_tokens"], theirs["cached_tokens"]) == (5 * 20, 5 * 12)
    assert found["agreement"]["rows"] == 4
    assert 0 < found["ratio"]["min"] <= found["ratio"]["median"] <= found["ratio"]["max"]
    assert found["binding"] is None


@pytest.mark.parametrize(
    ("given", "used"), [("ours", ["x-evidence"]), ("both", ["x-evidence"]), ("none", [])]
)
def test_what_only_vedette_can_use_is_told_and_can_be_left_out(files, capsys, given, used):
    tokens = batch(files, "--np", "1", "--repeat", "1", "--keywords", given, schema="evidence")
    assert measured(tokens, capsys)["keywords"] == {"given": given, "used": used}


def test_every_slot_count_is_a_side_when_all_are_asked_for(files, capsys):
    found = measured(batch(files, "--all-np", "--np", "1,2", "--repeat", "1"), capsys)
    names = [side["name"] for side in found["sides"]]
    assert names == [
        "vedette",
        "llama-server -np 1",
        "llama-server -np 1 -fa off",
        "llama-server -np 2",
        "llama-server -np 2 -fa off",
    ]
    assert found["peer"]["calibration"] == {}


def test_labels_are_measured_on_both_sides_and_judged(files, capsys):
    found = measured(classify(files, "--np", "2"), capsys)
    ours, theirs = found["sides"]
    assert (found["setting"]["items"], found["setting"]["blank"]) == (3, 1)
    assert (ours["valid"], ours["errors"]) == (1.0, 0)
    # The program always says the first label.
    assert theirs["accuracy"] == {
        "rows": 3,
        "whole": pytest.approx(2 / 3),
        "fields": {"value": pytest.approx(2 / 3)},
    }


def test_people_get_tables_and_progress_stays_off_stdout(files, capsys):
    assert run(batch(files, "--expected", files["expected"], "--np", "1", "--repeat", "1")) == 0
    out, err = capsys.readouterr()
    assert "its build" in out
    assert "6 items, without 1 blank" in out
    assert "the answer is cut off" in out
    assert "ratio: vedette is " in out
    assert "run 1 of 1: llama-server -np 1" in err
    assert "run 1 of 1" not in out
    assert run(batch(files, "--np", "1", "--repeat", "1", "--quiet")) == 0
    assert capsys.readouterr().err == ""


def test_the_binding_is_measured_on_the_first_items_only(files, capsys):
    found = measured(batch(files, "--np", "1", "--binding", "--binding-items", "2"), capsys)
    binding = found["binding"]
    assert binding["items"] == 2
    assert binding["binding"]["name"] == "llama-cpp-python"
    assert binding["binding"]["completion_tokens"] > 0
    assert binding["vedette"]["errors"] == 0
    assert binding["ratio"] > 0


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (lambda f: batch(f, peer="none"), "there is no llama-server at"),
        (lambda f: batch(f, peer="plain"), "may not be run"),
        (lambda f: batch(f, peer="crash"), "exit code 3 before it was ready"),
        (lambda f: batch(f, data="none"), "none"),
        (lambda f: batch(f, schema="none"), "cannot read the schema"),
        (lambda f: batch(f, schema="broken"), "the schema is not JSON"),
        (lambda f: batch(f, schema="noschema"), "not a JSON Schema"),
        (lambda f: batch(f, model="none"), "none"),
        (lambda f: batch(f, "--examples", f["broken"]), "line 1 is not JSON"),
        (lambda f: batch(f, "--expected", f["broken"]), "line 1 is no expected answer"),
        (lambda f: batch(f, "--expected", f["others"]), "no expected id is an item's id"),
        (lambda f: batch(f, "--np", "one"), "--np is 'one'"),
        (lambda f: batch(f, "--np", "0"), "--np is 0"),
        (lambda f: batch(f, "--repeat", "0"), "--repeat is 0"),
        (lambda f: batch(f, "--limit", "0"), "--limit is 0"),
        (lambda f: batch(f, "--threads", "0"), "threads"),
        (lambda f: batch(f, "--binding-items", "3"), "--binding-items is for --binding"),
        (lambda f: batch(f, "--binding", "--binding-items", "0"), "--binding-items is 0"),
        (lambda f: classify(f, labels="yes,no,yes"), "duplicates: 'yes'"),
        (lambda f: classify(f, labels="good,bad"), "the label 'yes', which is not in the label"),
        (lambda f: classify(f, "--label-field", "nonesuch"), "there is nothing to ask"),
        (lambda f: classify(f, data="data"), "without fields"),
    ],
)
def test_a_measurement_that_cannot_be_made_is_one_sentence(files, capsys, tokens, said):
    assert run([*tokens(files), "--quiet"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1


def test_stdin_cannot_be_measured(files, capsys):
    tokens = batch(files)
    where = tokens.index("--data")
    tokens[where : where + 2] = ["--data=-"]
    assert run(tokens) == 2
    assert "a measurement cannot read stdin" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_measurement_leaves_no_server_behind(files, tmp_path, number):
    command = [sys.executable, "-m", "vedette.cli.main", *batch(files)]
    command[command.index(files["peer"])] = str(write_fake(tmp_path, "never"))
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        server = _waited_for(psutil.Process(process.pid))
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    # Python dies of the signal itself if it came while a module was being imported; shells call
    # both 130.
    assert process.returncode in (130, -signal.SIGINT), err
    assert err.splitlines()[-1] == "vedette: interrupted."
    assert not server.is_running()
    assert not list(tmp_path.glob("vedette-peer-*"))


def _waited_for(process: psutil.Process) -> psutil.Process:
    """The server once it is there; a patient wait, as the machine may be slow."""
    for _ in range(1200):
        assert process.is_running()
        for child in process.children():
            with contextlib.suppress(psutil.Error):  # a short one, such as --version, may be gone
                if "--port" in child.cmdline():
                    return child
        time.sleep(0.05)
    raise AssertionError("no server was started")
