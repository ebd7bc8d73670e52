"""scripts/progress.py: a long command shows that it moves, and its output is never lost."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))

import progress

BUILD = """
import sys, time
print("Collecting numpy>=1.26 (from vedette)", flush=True)
print("  Building wheel for llama-cpp-python (pyproject.toml): started", flush=True)
print("  [7/193] g++ -c ggml.cpp", flush=True)
time.sleep(0.3)
print("error: \\u4e2d", file=sys.stderr, flush=True)
sys.exit({code})
"""


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def build(tmp_path: Path, out: io.StringIO, *, code: int) -> int:
    command = [sys.executable, "-X", "utf8", "-c", BUILD.format(code=code)]
    log = tmp_path / "install.log"
    return progress.run(command, log=log, label="starting", out=out, heartbeat_seconds=0.02)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Collecting numpy>=1.26 (from x)", "fetching numpy"),
        ("  Building wheel for llama-cpp-python (pyproject.toml): started", "building llama-cpp"),
        ("  [7/193] /usr/bin/g++ -c a.cpp", "starting  7/193"),
        ("  [ 12%] Building CXX object a.o", "starting  12%"),
        ("Installing collected packages: a, b", "installing packages"),
        ("  Downloading a.whl (1 kB)", "starting"),
    ],
)
def test_what_the_output_says_is_read_from_it(line, said):
    reading = progress.Reading("starting")
    reading.take(line)
    assert reading.describe(65).startswith(f"   1:05  {said}")


def test_a_new_phase_forgets_the_steps_of_the_last():
    reading = progress.Reading("starting")
    reading.take("  [7/193] g++")
    reading.take("Installing collected packages: a")
    assert reading.describe(0).endswith("installing packages")


def test_a_pipe_gets_whole_lines_that_show_the_step(tmp_path):
    out = io.StringIO()
    assert build(tmp_path, out, code=0) == 0
    assert "building llama-cpp-python  7/193\n" in out.getvalue()
    assert "\r" not in out.getvalue()


def test_a_terminal_gets_one_line_that_is_kept_up_to_date(tmp_path):
    out = Screen()
    assert build(tmp_path, out, code=0) == 0
    assert out.getvalue().count("\n") == 1
    assert out.getvalue().startswith("\r")


def test_the_log_holds_the_whole_output(tmp_path):
    build(tmp_path, io.StringIO(), code=0)
    lines = (tmp_path / "install.log").read_text(encoding="utf-8").splitlines()
    assert [line.split()[0] for line in lines] == ["Collecting", "Building", "[7/193]", "error:"]


def test_a_failure_shows_the_end_of_the_output_and_names_the_log(tmp_path):
    out = io.StringIO()
    assert build(tmp_path, out, code=3) == 3
    assert "error: 中" in out.getvalue()
    assert out.getvalue().endswith(f"exit code 3. Full log: {tmp_path / 'install.log'}\n")
