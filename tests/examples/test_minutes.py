"""The commands that the pages on long texts begin with, as they stand there."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from vedette.cli.main import run

ROOT = Path(__file__).parents[2]
COMMANDS = [
    command
    for page in ("compress", "summarise")
    for command in re.findall(
        r"^    (vedette .*examples/minutes\.txt.*)$",
        (ROOT / "docs" / f"{page}.md").read_text("utf-8"),
        flags=re.MULTILINE,
    )
]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_runs_as_it_stands(command, tiny_full, tmp_path, monkeypatch, capfd):
    for name, value in {"OFFLINE": "1", "THREADS": "1", "MODEL": str(tiny_full)}.items():
        monkeypatch.setenv(f"VEDETTE_{name}", value)
    monkeypatch.setenv("VEDETTE_CONTEXT_TOKENS", "4096")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    program, *tokens = shlex.split(command)
    assert (program, run(tokens)) == ("vedette", 0)
    out = capfd.readouterr().out
    if tokens[0] == "compress":
        value = json.loads(out)["value"]
        assert value["tokens"] <= int(tokens[tokens.index("--budget") + 1])
    elif "--out" in tokens:
        (line,) = (tmp_path / tokens[tokens.index("--out") + 1]).read_text("utf-8").splitlines()
        assert 0 < len(json.loads(line)["value"]["summary"].split()) <= 80
    else:
        assert 0 < len(out.split()) <= 60


def test_there_is_a_command_of_every_way():
    assert len(COMMANDS) == 5


def test_what_answers_the_question_is_kept(capfd):
    import vedette

    text = (ROOT / "examples" / "minutes.txt").read_text("utf-8")
    task = vedette.Compress("When does the ferry leave?", budget=120)
    kept = next(iter(vedette.map([text], task, backend=_Words())))
    assert "we accept 7:40 from 1 June" in kept.value["text"]


class _Words:
    """Counts words; nothing is asked of it."""

    name, width, identity, counts = "words", 1, {}, {}

    def __init__(self):
        from vedette.types import Capabilities

        self.capabilities = Capabilities()

    def count_tokens(self, text):
        return len(text.split())
