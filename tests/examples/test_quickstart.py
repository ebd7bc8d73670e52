"""The example that a reader tries first."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
QUICKSTART = ROOT / "examples" / "quickstart.py"


def test_the_readme_shows_the_quickstart_as_it_is():
    readme = (ROOT / "README.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", readme, flags=re.MULTILINE | re.DOTALL)
    assert blocks == [QUICKSTART.read_text("utf-8")]


def test_the_quickstart_has_ten_lines_of_code():
    lines = QUICKSTART.read_text("utf-8").splitlines()
    assert len([line for line in lines if line.strip()]) == 10


def test_the_quickstart_gives_answers_of_its_shape_whatever_the_model_knows(
    tiny_full: Path, tmp_path: Path
):
    check_answers(run_quickstart(str(tiny_full), tmp_path, home=tmp_path))


@pytest.mark.model
def test_the_quickstart_runs_on_a_small_real_model(tmp_path: Path):
    check_answers(run_quickstart("smollm2-135m", tmp_path))


def run_quickstart(model: str, folder: Path, home: Path | None = None) -> str:
    """What it prints, run as a user would, in a folder without settings."""
    settings = {"VEDETTE_MODEL": model} | ({"VEDETTE_HOME": str(home)} if home else {})
    settings["VEDETTE_THREADS"] = "1"  # llama.cpp's threads spin where cores are shared
    done = subprocess.run(
        [sys.executable, "-W", "error", QUICKSTART],
        env={**os.environ, **settings, "PYTHONIOENCODING": "utf-8"},
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def check_answers(printed: str) -> None:
    """An event as the schema has it, then a label with the probability of each."""
    found = re.fullmatch(
        r"Event\(level='(INFO|WARN|ERROR)', service=(.*)\)\n(\w+) (\{.*\})\n", printed
    )
    assert found, printed
    service, probabilities = map(ast.literal_eval, found.group(2, 4))
    assert isinstance(service, str)
    assert list(probabilities) == ["positive", "negative"]
    assert sum(probabilities.values()) == pytest.approx(1, abs=0.001)
    assert found[3] == max(probabilities, key=probabilities.get)
