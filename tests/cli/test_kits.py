"""`vedette form`, `command` and `config-text` on a tiny random model: always well-formed."""

from __future__ import annotations

import json
import shlex
import tomllib

import jsonschema_rs
import pytest

from vedette.cli.main import run

FORM = {
    "properties": {
        "name": {"title": "Who?", "type": "string", "maxLength": 6},
        "guests": {"type": "integer", "minimum": 1, "maximum": 9},
    },
    "required": ["name"],
}
SPEC = {
    "prog": "backup",
    "options": [
        {"flags": ["-v"], "type": "flag"},
        {"flags": ["--level"], "type": "integer", "required": True},
    ],
    "positionals": [{"name": "target", "choices": ["a", "b c"]}],
}
CONFIG = {
    "properties": {
        "host": {"type": "string", "maxLength": 6},
        "log": {"properties": {"level": {"enum": ["info", "debug"]}}, "required": ["level"]},
    },
    "required": ["host", "log"],
}
FILES = {"form.json": FORM, "spec.json": SPEC, "config.json": CONFIG, "bad.json": {"type": "list"}}
ROWS = [
    {"text": "one", "known": None},
    {"text": "", "known": {}},
    {"text": "错误 error", "known": {"guests": 2}},
    {"text": "x", "known": {"guests": 99}},
]


@pytest.fixture
def vedette(tmp_path, tiny_full, capfd, monkeypatch):
    monkeypatch.setenv("VEDETTE_OFFLINE", "1")
    monkeypatch.setenv("VEDETTE_THREADS", "1")
    monkeypatch.setenv("VEDETTE_CONTEXT_TOKENS", "2048")
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).write_text(json.dumps(content))
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "in.txt").write_text("one\n\nserver error\n")

    def call(*tokens: str):
        code = run([*tokens, "--model", str(tiny_full)])
        out, err = capfd.readouterr()
        return code, out, err

    def lines(*tokens: str):
        code, out, _ = call(*tokens)
        return code, [json.loads(line) for line in out.splitlines()]

    call.lines = lines
    return call


def test_a_form_keeps_what_is_known_and_asks_for_the_rest(vedette):
    known = '{"name": "Ann"}'
    code, lines = vedette.lines(
        "form", "rows.jsonl", "--schema", "form.json", "--known", known, "--known-field", "known"
    )
    assert (code, [line["ok"] for line in lines]) == (1, [True, True, True, False])
    for line in lines[:3]:
        value = line["value"]
        assert value["form"]["name"] == "Ann"
        assert value["complete"]
        assert value["filled"] in ([], ["guests"])
        jsonschema_rs.validate(FORM, value["form"])
        assert {*value["form"], *(m["field"] for m in value["missing"])} == {"name", "guests"}
    assert lines[2]["value"]["form"]["guests"] == 2
    assert "the column known: the value of 'guests'" in lines[3]["error"]["message"]


def test_a_command_line_is_one_that_the_program_takes(vedette):
    code, lines = vedette.lines("command", "in.txt", "--spec", "spec.json")
    assert (code, lines[1]["value"]) == (0, None)
    for line in (lines[0], lines[2]):
        argv = line["value"]["argv"]
        assert shlex.split(line["value"]["command"]) == argv
        assert argv[0] == "backup"
        assert argv.count("--level") == 1
        assert argv[-1] in ("a", "b c")


@pytest.mark.parametrize("form", ["ini", "toml"])
def test_a_configuration_file_is_valid(vedette, form):
    code, lines = vedette.lines("config-text", "in.txt", "--schema", "config.json", "--to", form)
    assert (code, lines[1]["value"]) == (0, None)
    for line in (lines[0], lines[2]):
        jsonschema_rs.validate(CONFIG, line["value"]["values"])
        if form == "toml":
            assert tomllib.loads(line["value"]["text"]) == line["value"]["values"]
        else:
            assert "[main]\nhost" in line["value"]["text"]


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (["form", "--schema", "none.json"], "cannot read the schema none.json"),
        (["form", "--schema", "bad.json"], "list"),
        (["form", "--schema", "form.json", "--known", "{"], "--known is not JSON"),
        (["form", "--schema", "form.json", "--known", "none.json"], "known values none.json"),
        (["form", "--schema", "form.json", "--known", '{"nam": 1}'], "'nam' is no field"),
        (["form", "--schema", "form.json", "--max-tokens", "0"], "max_tokens is 0"),
        (["form", "--schema", "form.json", "--known", '{"guests": 99}'], "does not fit"),
        (["command", "--spec", "none.json"], "cannot read the specification none.json"),
        (["command", "--spec", "in.txt"], "in.txt is not JSON"),
        (["command", "--spec", "form.json"], "unknown key 'properties'"),
        (["command", "--spec", "spec.json", "--max-tokens", "0"], "max_tokens is 0"),
        (["form", "--schema", "form.json", "--known-field", "known"], "known"),
        (["config-text", "--schema", "config.json", "--to", "yaml"], "yaml"),
        (["config-text", "--schema", "config.json", "--to", "env"], "/log is a table"),
        (["config-text", "--schema", "config.json"], "--to"),
    ],
)
def test_a_command_that_cannot_run_says_why_in_one_line(vedette, tokens, said):
    code, out, err = vedette(*tokens[:1], "in.txt", *tokens[1:])
    assert (code, out) == (2, "")
    assert err.startswith("vedette: ")
    assert err.count("\n") == 1
    assert said in err


@pytest.mark.parametrize(
    ("kit", "schema"),
    [(("form",), FORM), (("config-text", "--to", "toml"), CONFIG)],
    ids=["form", "config-text"],
)
def test_a_keyword_without_effect_is_pointed_out(vedette, tmp_path, kit, schema):
    odd = {"type": "boolean", "maxlenght": 3}
    schema = {**schema, "properties": {**schema["properties"], "odd": odd}}
    (tmp_path / "odd.json").write_text(json.dumps(schema))
    code, _, err = vedette(*kit, "in.txt", "--schema", "odd.json")
    assert "warning: at /properties/odd: maxlenght: " in err
    assert code == 0, err


def test_a_tools_keyword_without_effect_is_pointed_out(vedette, tmp_path):
    parameters = {"properties": {"on": {"type": "boolean", "maxlenght": 3}}, "required": ["on"]}
    tools = [{"type": "function", "function": {"name": "light", "parameters": parameters}}]
    (tmp_path / "tools.json").write_text(json.dumps(tools))
    code, _, err = vedette("tool", "in.txt", "--tools", "tools.json")
    assert code == 0
    assert "warning: tool 'light': at /properties/on: maxlenght: " in err
