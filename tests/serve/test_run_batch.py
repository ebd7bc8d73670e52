"""`vedette run-batch`: the lines of a batch, without a server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from batching import as_jsonl, chat_line
from lanes import Lanes
from openai.types.chat import ChatCompletion
from served import WAIT_S, wait_until

from vedette.batch.progress import NoProgress
from vedette.cli.main import run
from vedette.errors import JournalMismatch
from vedette.serve.offline import run_file
from vedette.serve.options import ServeOptions

OPTIONS = ServeOptions(model="tiny")


@pytest.fixture
def variables(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("VEDETTE_OFFLINE", "1")
    monkeypatch.setenv("VEDETTE_THREADS", "1")
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))


def answer(backend, folder, lines, **how):
    (folder / "in.jsonl").write_bytes(as_jsonl(lines))
    out = folder / "out.jsonl"
    ending = run_file(backend, OPTIONS, folder / "in.jsonl", str(out), NoProgress(), **how)
    return ending, [json.loads(line) for line in out.read_text("utf-8").splitlines()]


def test_the_command_answers_a_file_and_says_how_it_went(variables, tiny_full, tmp_path, capfd):
    lines = [chat_line("a", max_tokens=4), b"{no", chat_line("b", max_tokens=4)]
    (tmp_path / "in.jsonl").write_bytes(as_jsonl(lines))
    out = tmp_path / "new" / "out.jsonl"
    command = ["run-batch", str(tmp_path / "in.jsonl"), "--out", str(out)]
    command += ["--model", str(tiny_full), "--alias", "tiny"]
    assert run(command) == 1
    assert capfd.readouterr().err.endswith("3 lines: 2 answered, 1 error\n")
    first, bad, second = map(json.loads, out.read_text("utf-8").splitlines())
    assert [line["custom_id"] for line in (first, bad, second)] == ["a", None, "b"]
    assert bad["error"]["code"] == "invalid_json"
    for line in (first, second):
        ChatCompletion.model_validate(line["response"]["body"])
    before = out.read_bytes()
    assert run([*command, "--quiet"]) == 1
    assert out.read_bytes() == before


def test_a_line_that_is_not_utf8_is_told_so(tmp_path):
    _, (bad, other) = answer(Lanes(2), tmp_path, [b'{"custom_id": "\xff"}', b"{no"])
    assert bad["error"] == {"code": "invalid_json", "message": "line 1: not valid UTF-8"}
    assert other["error"]["message"].startswith("line 2: not valid JSON: ")


def test_lines_may_ask_different_routes_and_nothing_is_asked_twice(tmp_path):
    lanes = Lanes(2)
    text = {"custom_id": "t", "method": "POST", "url": "/v1/nowhere", "body": {"model": "tiny"}}
    ending, results = answer(lanes, tmp_path, [chat_line("a", "one"), text])
    assert (ending.completed, ending.failed) == (1, 1)
    assert results[1]["response"]["status_code"] == 404
    ending, results = answer(lanes, tmp_path, [chat_line("a", "one"), chat_line("b", "two")])
    assert (ending.completed, ending.failed) == (2, 0)
    assert [line["custom_id"] for line in results] == ["a", "b"]
    assert lanes.asked == {"one": 1, "two": 1}


def test_failed_lines_are_asked_again_where_that_is_wanted(tmp_path):
    lanes = Lanes(2)
    lines = [chat_line("a", "one"), chat_line("b", model="none")]
    assert answer(lanes, tmp_path, lines)[0].failed == 1
    lanes.identity = {"model": "another"}
    with pytest.raises(JournalMismatch):
        answer(lanes, tmp_path, lines)
    lanes.identity = {"model": "lanes"}
    answer(lanes, tmp_path, lines, retry_failed=True)
    assert lanes.asked == {"one": 1}
    answer(lanes, tmp_path, lines, fresh=True)
    assert lanes.asked == {"one": 2}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.jsonl", "--out", "out.jsonl"], "cannot read nowhere.jsonl: No such file"),
        (["in.jsonl", "--out", "in.jsonl"], "in.jsonl is both input and output"),
        (["in.jsonl", "--out", "full.jsonl"], "full.jsonl has content already"),
        (["in.jsonl"], "out"),
    ],
)
def test_what_cannot_be_is_said_before_a_model_is_loaded(
    variables, tmp_path, monkeypatch, capfd, arguments, said
):
    monkeypatch.chdir(tmp_path)
    for name in ("in.jsonl", "full.jsonl"):
        (tmp_path / name).write_bytes(as_jsonl([chat_line("a")]))
    assert run(["run-batch", *arguments, "--model", "nowhere.gguf"]) == 2
    assert said in capfd.readouterr().err


def test_interrupted_it_goes_on_with_the_same_command(variables, tiny_full, tmp_path):
    names = [f"{i}" for i in range(40)]
    lines = [chat_line(name, f"line {name}", max_tokens=80) for name in names]
    (tmp_path / "in.jsonl").write_bytes(as_jsonl(lines))
    out, journal = tmp_path / "out.jsonl", tmp_path / "out.jsonl.journal"
    command = [sys.executable, "-m", "vedette.cli.main", "run-batch", str(tmp_path / "in.jsonl")]
    command += ["--out", str(out), "--model", str(tiny_full), "--alias", "tiny"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
        wait_until(lambda: journal.exists() and journal.read_bytes().count(b"\n") > 5)
        process.send_signal(signal.SIGINT)
        assert process.wait(WAIT_S) == 130
        assert "run the same command again" in process.stderr.read()
    kept = [json.loads(line.split(b" ", 2)[2]) for line in journal.read_bytes().splitlines()[1:]]
    assert 5 <= len(kept) < 40
    assert not out.exists()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [line["custom_id"] for line in results] == names
    assert {one["id"] for one in kept} <= {line["id"] for line in results}


@pytest.mark.parametrize("content", [b"", b"\n  \n"])
def test_a_file_without_lines_is_refused(variables, monkeypatch, tmp_path, capfd, content):
    monkeypatch.setattr("vedette.cli.run_batch.open_backend", None)
    (tmp_path / "in.jsonl").write_bytes(content)
    assert run(["run-batch", str(tmp_path / "in.jsonl"), "--out", str(tmp_path / "o.jsonl")]) == 2
    told = capfd.readouterr().err
    assert told.count("\n") == 1
    assert f"the input file {tmp_path / 'in.jsonl'} has no lines" in told
    assert not (tmp_path / "o.jsonl").exists()
