"""Seventy command lines in the style of guides: what is found, and what a real server says."""

from __future__ import annotations

import shlex
import tomllib
from functools import cache
from pathlib import Path

import pytest
from lint_support import codes, help_like, real_server, refusal

from vedette.spec.lint import Wish, lint_command
from vedette.spec.lint.bundled import bundled_table
from vedette.spec.lint.help_text import parse_help

LINES = tomllib.loads(Path(__file__).with_name("command_lines.toml").read_text("utf-8"))["line"]
READ_MODES = ("--mlock", "--mmap", "--direct-io")  # gone from the latest builds


@cache
def help_of_autumn() -> str:
    return help_like(bundled_table("new"), without=READ_MODES)


def applies(line: dict, help_text: str) -> bool:
    """Whether a line was written for a build with these flags."""
    table = parse_help(help_text, title="help")
    since, without = line.get("since"), line.get("without")
    return not (since and not table.live(since)) and not (without and table.live(without))


@pytest.mark.parametrize("line", LINES, ids=[line["text"][:60] for line in LINES])
def test_the_findings_are_those_that_the_line_deserves(line):
    mended = lint_command(line["text"], Wish(help_text=help_of_autumn()))
    assert codes(mended) == sorted(line["codes"])
    assert mended.commands[0].complete == line.get("complete", True)
    if "mended" in line:
        assert mended.text == line["mended"]
    if not line["codes"]:
        assert mended.text == line["text"]


@pytest.mark.parametrize("line", LINES, ids=[line["text"][:60] for line in LINES])
def test_a_mended_line_has_nothing_left_to_mend(line):
    wish = Wish(help_text=help_of_autumn())
    once = lint_command(line["text"], wish)
    twice = lint_command(once.text, wish)
    assert twice.text == once.text
    assert not any(finding.mended for finding in twice.findings)


def test_there_are_at_least_sixty_lines_and_a_third_of_the_kinds_of_findings():
    found = {code for line in LINES for code in line["codes"]}
    assert len(LINES) >= 60
    assert len(found) >= 20


def test_a_real_server_takes_every_mended_line_and_refuses_those_left_incomplete():
    """Against the llama-server of this machine, by its own help: the parser says so itself."""
    program, help_text = real_server()
    checked = 0
    for line in LINES:
        if not applies(line, help_text) or "$" in line["text"]:
            continue
        mended = lint_command(line["text"], Wish(help_text=help_text))
        command = mended.commands[0]
        said = refusal(program, command.arguments, command.environment)
        assert (said is None) == command.complete, (line["text"], mended.text, said)
        if not line["codes"]:
            assert mended.text == line["text"]
        checked += 1
    assert checked >= 60


def test_what_is_reported_as_arguments_is_what_a_shell_makes_of_the_mended_line():
    line = "llama-server -m 'my model.gguf' -md d.gguf --draft-max 8 -cd 512 --alias 'a b'"
    mended = lint_command(line, Wish(build="new"))
    assert sorted(shlex.split(mended.text)[1:]) == sorted(mended.commands[0].arguments)
