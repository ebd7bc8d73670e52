"""What only a process of its own can show: kills, signals, stdin, memory, a full disk."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parent.parent / "src"
ROWS = 400
WIDTH = 4


def command(source: str, out: Path | str, **options) -> list[str]:
    named = [f"{name}={value}" for name, value in options.items()]
    return [sys.executable, str(HERE / "job_process.py"), source, str(out), *named]


def start(source: str, out: Path | str, *, stdin=None, stdout=None, **options):
    return subprocess.Popen(
        command(source, out, **options),
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        stdin=stdin or subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
    )


def end(process) -> tuple[int, dict]:
    """Exit code and report."""
    _, said = process.communicate(timeout=120)
    return process.returncode, json.loads(said.splitlines()[-1])


def wait_for_lines(path: Path, count: int, process) -> None:
    while not path.exists() or path.read_bytes().count(b"\n") < count:
        assert process.poll() is None, process.stderr.read().decode()
        time.sleep(0.005)


@pytest.fixture
def source(tmp_path) -> str:
    path = tmp_path / "in.log"
    path.write_text("".join(f"row {number} {'w ' * (number % 9)}\n" for number in range(ROWS)))
    return str(path)


@pytest.fixture
def undisturbed(source, tmp_path) -> bytes:
    code, _ = end(start(source, tmp_path / "undisturbed.jsonl", delay_ms=0.1))
    assert code == 0
    return (tmp_path / "undisturbed.jsonl").read_bytes()


def test_killed_at_random_moments_the_result_is_the_same_and_little_is_done_again(
    source, undisturbed, tmp_path
):
    out, log = tmp_path / "out.jsonl", tmp_path / "asked.log"
    rng = random.Random(7)
    options = {"delay_ms": 4.0, "width": WIDTH, "log": log}
    kills = 0
    for goal in sorted(rng.sample(range(1, ROWS // 2), 6)):
        process = start(source, out, **options)
        wait_for_lines(out, goal, process)
        time.sleep(rng.random() * 0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        kills += process.returncode == -signal.SIGKILL
        part = out.read_bytes()
        assert undisturbed.startswith(part[: part.rfind(b"\n") + 1])
    code, report = end(start(source, out, **options))
    assert code == 0
    assert kills > 0
    assert out.read_bytes() == undisturbed
    asked = log.read_text().splitlines()
    assert len(set(asked)) == ROWS
    assert len(asked) - ROWS <= WIDTH * kills
    assert report["done_again"] <= WIDTH


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_job_tidily_and_the_same_command_goes_on(
    source, undisturbed, tmp_path, number
):
    out = tmp_path / "out.jsonl"
    process = start(source, out, delay_ms=20.0, width=WIDTH)
    wait_for_lines(out, 50, process)
    process.send_signal(number)
    code, report = end(process)
    assert code == 130
    assert report["interrupted"]
    assert "run the same command again" in report["headline"]
    assert 50 <= report["items"] < ROWS
    assert out.read_bytes().count(b"\n") == report["items"]
    assert undisturbed.startswith(out.read_bytes())
    code, report = end(start(source, out, delay_ms=0.1))
    assert code == 0
    assert report["from_journal"] >= 50
    assert out.read_bytes() == undisturbed


def test_ctrl_c_while_stdin_is_silent_ends_the_job(tmp_path):
    out = tmp_path / "out.jsonl"
    process = start("-", out, stdin=subprocess.PIPE)
    process.stdin.write(b"one\ntwo\n")
    process.stdin.flush()
    wait_for_lines(out, 2, process)  # written while the input is still open
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    report = json.loads(process.stderr.read().splitlines()[-1])
    process.stdin.close()
    process.stderr.close()
    assert (process.returncode, report["items"]) == (130, 2)


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        (b"one\n\nthree", ["ONE", "", "THREE"]),
        (b'{"text":"one"}\n{"text":"two"}\n', ["ONE", "TWO"]),
        (b"", []),
    ],
)
def test_stdin_to_stdout_without_a_journal(given, texts):
    process = start("-", "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    written, said = process.communicate(given, timeout=60)
    assert process.returncode == 0, said
    assert [json.loads(line)["value"]["shouted"] for line in written.splitlines()] == texts
    assert json.loads(said)["journal"] is None


def test_a_reader_that_goes_away_is_a_file_error(source):
    process = start(source, "-", stdout=subprocess.PIPE)
    process.stdout.close()
    process.wait(timeout=60)
    report = json.loads(process.stderr.read().splitlines()[-1])
    process.stderr.close()
    assert process.returncode == 2
    assert report["error"]["message"] == "nobody reads stdout any more"


def test_a_disk_that_fills_up_keeps_what_is_written_and_the_job_goes_on_later(
    source, undisturbed, tmp_path
):
    out = tmp_path / "out.jsonl"
    for limit in (777, 5_000, 20_001):
        code, report = end(start(source, out, delay_ms=0.1, file_bytes=limit))
        assert (code, report["error"]["code"]) == (2, "disk_full")
        assert "run the same command again" in report["error"]["hint"]
        part = out.read_bytes() if out.exists() else b""
        assert undisturbed.startswith(part)
        assert part == b"" or part.endswith(b"\n")
    code, report = end(start(source, out, delay_ms=0.1))
    assert code == 0
    assert report["from_journal"] > 0
    assert out.read_bytes() == undisturbed


def test_memory_does_not_grow_with_the_input(tmp_path):
    source = tmp_path / "in.log"
    with source.open("w") as file:
        file.writelines(f"{number} {'words ' * 20}\n" for number in range(100_000))
    out = tmp_path / "out.jsonl"
    code, first = end(start(str(source), out, delay_ms=0))
    assert (code, first["items"]) == (0, 100_000)
    assert first["grown_bytes"] < 64 * 1024 * 1024
    code, again = end(start(str(source), out, delay_ms=0))
    assert (code, again["asked"]) == (0, 0)
    assert again["grown_bytes"] < 64 * 1024 * 1024
