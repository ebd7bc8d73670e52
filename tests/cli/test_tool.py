"""`vedette tool` on a tiny random model: whatever it picks, every call is well-formed."""

from __future__ import annotations

import json

import jsonschema_rs
import pytest

from vedette.cli.main import run
from vedette.tasks.tool_defs import tools_of

TOOLS = [
    {
        "name": "add",
        "description": "Adds.",
        "parameters": {
            "type": "object",
            "properties": {
                "a": {"type": "integer", "minimum": 0, "maximum": 9},
                "unit": {"enum": ["m", "km"]},
            },
            "required": ["a"],
        },
    },
    {"type": "function", "function": {"name": "time.now", "description": "Says the time."}},
    {"name": "say", "parameters": {"properties": {"text": {"type": "string", "maxLength": 8}}}},
]
ROWS = ["one and one", "", "time 错误", "hello", "error at the server", "status?"]


@pytest.fixture
def vedette(tmp_path, tiny_full, capfd, monkeypatch):
    monkeypatch.setenv("VEDETTE_OFFLINE", "1")
    monkeypatch.setenv("VEDETTE_THREADS", "1")
    monkeypatch.setenv("VEDETTE_CONTEXT_TOKENS", "2048")
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS))
    (tmp_path / "twice.json").write_text(json.dumps([*TOOLS, TOOLS[0]]))
    (tmp_path / "dict.json").write_text(
        json.dumps([{"name": "f", "parameters": {"properties": {"a": {"type": "dict"}}}}])
    )
    (tmp_path / "in.txt").write_text("".join(f"{row}\n" for row in ROWS))

    def call(*tokens: str):
        code = run(["tool", *tokens, "--model", str(tiny_full)])
        out, err = capfd.readouterr()
        return code, out, err

    return call


@pytest.mark.parametrize("options", [[], ["--required"], ["--call-above", "0"]])
@pytest.mark.parametrize("parallel", [1, 3])
def test_every_call_is_well_formed_whatever_the_model(vedette, options, parallel):
    code, out, _ = vedette("in.txt", "--tools", "tools.json", "--parallel", str(parallel), *options)
    lines = [json.loads(line) for line in out.splitlines()]
    assert (code, len(lines)) == (0, len(ROWS))
    assert (lines[1]["value"], lines[1]["empty"]) == ({"calls": []}, True)
    known = {tool.name: tool.parameters for tool in tools_of(TOOLS)}
    for line in lines[:1] + lines[2:]:
        calls = line["value"]["calls"]
        assert len(calls) <= parallel
        assert calls or not options
        for call in calls:
            assert call.keys() == {"name", "arguments"}
            jsonschema_rs.validate(dict(known[call["name"]]), call["arguments"])


def test_none_of_them_is_a_choice_with_a_probability(vedette):
    _, out, _ = vedette("in.txt", "--tools", "tools.json", "--call-above", "0.999", "--limit", "1")
    line = json.loads(out)
    assert line["value"] == {"calls": []}
    shares = [*line["probabilities"].values(), line["none_probability"]]
    assert sum(shares) == pytest.approx(1, abs=1e-3)


def test_show_prompt_shows_every_tool(vedette):
    code, out, _ = vedette("in.txt", "--tools", "tools.json", "--show-prompt")
    assert code == 0
    assert "- add(a, unit?): Adds.\n- time.now(): Says the time.\n- say(text?)\n- none:" in out


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (["--tools", "none.json"], "cannot read the tools none.json"),
        (["--tools", "in.txt"], "in.txt is not JSON"),
        (["--tools", "twice.json"], "the tool 'add' is there twice"),
        (["--tools", "dict.json"], "tool 'f': "),
        (["--tools", "tools.json", "--parallel", "0"], "parallel is 0; it must be at least 1"),
        (["--tools", "tools.json", "--call-above", "2"], "call_above is 2.0"),
        (
            ["--tools", "tools.json", "--required", "--call-above", "0.1"],
            "--call-above has no effect",
        ),
        (["--tools", "tools.json", "--paralel", "2"], 'Did you mean "--parallel"?'),
    ],
)
def test_a_command_that_cannot_run_says_why_in_one_line(vedette, tokens, said):
    code, out, err = vedette("in.txt", *tokens)
    assert (code, out) == (2, "")
    assert err.startswith("vedette: ")
    assert err.count("\n") == 1
    assert said in err
