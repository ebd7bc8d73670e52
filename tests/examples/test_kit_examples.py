"""Every command of examples/kits/README.md, as it stands there, on a tiny random model."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from vedette.cli.main import run

ROOT = Path(__file__).parents[2]
README = (ROOT / "examples" / "kits" / "README.md").read_text("utf-8")
COMMANDS = re.findall(r"^    (.*)$", README, flags=re.MULTILINE)
MODEL_SETTINGS = {"VEDETTE_OFFLINE": "1", "VEDETTE_THREADS": "1", "VEDETTE_CONTEXT_TOKENS": "2048"}


@pytest.fixture
def folder(tmp_path, monkeypatch, tiny_full):
    """An empty folder in which examples/ is as in the repository."""
    for name, value in {**MODEL_SETTINGS, "VEDETTE_MODEL": str(tiny_full)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)


def test_there_is_an_example_of_every_kit():
    verbs = {shlex.split(command)[1] for command in COMMANDS if command.startswith("vedette")}
    assert verbs == {"tool", "form", "command", "config-text", "sql"}


def test_the_commands_run_as_they_stand(folder, capfd):
    for command in COMMANDS:
        program, *tokens = shlex.split(command)
        if program == "python":
            subprocess.run([sys.executable, *tokens], check=True)
            continue
        assert run([*tokens]) == 0, command
        out, _ = capfd.readouterr()
        n_rows = len(Path(tokens[1]).read_text("utf-8").splitlines())
        lines = [json.loads(line) for line in out.splitlines()]
        assert [line["ok"] for line in lines] == [True] * n_rows, command
