"""`vedette config show`."""

from __future__ import annotations

import json
import os

import pytest

from vedette.cli.main import run
from vedette.config import names


@pytest.fixture(autouse=True)
def bare(monkeypatch, tmp_path):
    for name in list(os.environ):
        if name.upper().startswith("VEDETTE_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def test_every_setting_is_shown_with_its_origin(monkeypatch, capsys):
    monkeypatch.setenv("VEDETTE_WIDTH", "5")
    assert run(["config", "show", "--origin"]) == 0
    header, *rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert header == ["setting", "value", "origin"]
    assert [row[0] for row in rows] == list(names())
    assert ["width", "5", "environment", "VEDETTE_WIDTH"] in rows
    assert ["batch_tokens", "512", "default"] in rows


def test_json_holds_the_values_as_they_are(capsys):
    assert run(["config", "show", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert list(values) == list(names())
    assert (values["threads"], values["width"], values["offline"]) == (None, 8, False)


def test_json_with_origin_says_where_each_value_came_from(monkeypatch, capsys):
    monkeypatch.setenv("VEDETTE_MODEL", "m.gguf")
    assert run(["config", "show", "--json", "--origin"]) == 0
    shown = json.loads(capsys.readouterr().out)["model"]
    assert shown == {
        "value": "m.gguf",
        "origin": {"kind": "environment", "where": "VEDETTE_MODEL"},
    }


def test_a_wrong_setting_is_one_line_and_exit_code_2(monkeypatch, capsys):
    monkeypatch.setenv("VEDETTE_MODLE", "x")
    assert run(["config", "show"]) == 2
    expected = "vedette: unknown environment variable VEDETTE_MODLE. Did you mean VEDETTE_MODEL?\n"
    assert capsys.readouterr().err == expected
