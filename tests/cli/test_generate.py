"""`vedette generate` and `vedette schema check` on a tiny random model."""

from __future__ import annotations

import json
import re

import jsonschema_rs
import pytest

from vedette.cli.main import run

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "n": {"type": "integer", "minimun": 3}},
    "required": ["name", "n"],
}


@pytest.fixture
def vedette(tmp_path, tiny_full, capfd, monkeypatch):
    monkeypatch.setenv("VEDETTE_OFFLINE", "1")
    monkeypatch.setenv("VEDETTE_THREADS", "1")
    monkeypatch.setenv("VEDETTE_CONTEXT_TOKENS", "2048")
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "g.gbnf").write_text('root ::= "<" [0-9]{2,3} ">"')
    (tmp_path / "g.lark").write_text('start: "<" /[0-9]{2,3}/ ">"')
    (tmp_path / "in.txt").write_text("one\ntwo\n\n")

    def call(*tokens: str, model: bool = True):
        code = run([*tokens, *(["--model", str(tiny_full)] if model else [])])
        out, err = capfd.readouterr()
        return code, out, err

    return call


@pytest.mark.parametrize(
    ("options", "form"),
    [
        (["--grammar", "g.gbnf"], r"<\d{2,3}>"),
        (["--grammar", 'root ::= "a" | "b"'], "[ab]"),
        (["--lark", "g.lark"], r"<\d{2,3}>"),
        (["--regex", "[a-c]{4}"], "[a-c]{4}"),
        (["--choices", "yes, no,perhaps"], "yes|no|perhaps"),
        (["--regex", "[a-c]{4}", "--temperature", "1", "--seed", "3"], "[a-c]{4}"),
    ],
)
def test_a_prompt_is_answered_within_its_grammar(vedette, options, form):
    code, out, _ = vedette("generate", "--prompt", "x", *options)
    assert code == 0
    assert re.fullmatch(form, out.removesuffix("\n"))


def test_rows_are_answered_as_json_values_and_odd_keywords_are_pointed_out(vedette):
    code, out, err = vedette("generate", "in.txt", "--schema", "s.json", "--max-tokens", "40")
    assert code == 0
    lines = [json.loads(line) for line in out.splitlines()]
    assert (lines[2]["value"], lines[2]["empty"]) == (None, True)
    for line in lines[:2]:
        jsonschema_rs.validate(SCHEMA, line["value"])
    assert "at /properties/n: minimun: not a keyword" in err
    assert "is minimum meant?" in err


def test_the_prompt_is_shown_and_not_answered(vedette):
    code, out, _ = vedette("generate", "--prompt", "a question", "--show-prompt")
    assert code == 0
    assert "a question" in out


def test_a_cut_answer_is_told(vedette):
    code, out, err = vedette("generate", "--prompt", "x", "--regex", "[a-z]+", "--max-tokens", "2")
    assert code == 0
    assert out.strip().isalpha()
    assert "the answer was cut: budget" in err


@pytest.mark.parametrize(
    ("tokens", "what"),
    [
        (["--prompt", "x", "--regex", "a", "--choices", "b"], "only one of --regex and --choices"),
        (["--prompt", "x", "--grammar", 'root ::= "a'], "line 1, column 10"),
        (["--prompt", "x", "--grammar", "none.gbnf"], "cannot read the grammar none.gbnf"),
        (["--prompt", "x", "in.txt"], "either --prompt or files"),
        (["--prompt", "x", "--strict"], "--strict and --order go with --schema"),
        (["--prompt", "x", "--schema", "s.json", "--max-tokens", "3"], "needs"),
        (["--prompt", "x", "--max-tokens", "0"], "must be at least 1"),
        (["--prompt", "x", "--out", "."], "cannot write .: it is a folder"),
        (["--prompt", "x", "--limit", "3"], "--limit is about rows"),
        (["--prompt", "x", "--json"], "--json is about rows"),
        (["in.txt", "--regxe", "a"], "unknown option"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(vedette, tokens, what):
    code, out, err = vedette("generate", *tokens)
    assert (code, out) == (2, "")
    assert what in err


def test_schema_check_tells_the_fate_of_every_keyword(vedette):
    code, out, _ = vedette("schema", "check", "s.json", "--json", model=False)
    report = json.loads(out)
    assert (code, report["usable"]) == (0, True)
    assert {(k["pointer"], k["keyword"]) for k in report["keywords"]} == {
        ("", "type"),
        ("", "properties"),
        ("", "required"),
        ("/properties/name", "type"),
        ("/properties/n", "type"),
    }
    assert [(u["pointer"], u["keyword"]) for u in report["unknown"]] == [
        ("/properties/n", "minimun")
    ]
    assert "objects take only the properties that they declare" in report["bounds"]


def test_schema_check_refuses_with_the_place_and_exit_code_2(vedette, tmp_path):
    (tmp_path / "u.json").write_text(
        '{"properties": {"a": {"type": "array", "uniqueItems": true}}}'
    )
    code, out, err = vedette("schema", "check", "u.json", model=False)
    assert code == 0
    assert "checked" in out
    code, out, err = vedette("schema", "check", "u.json", "--strict", model=False)
    assert code == 2
    assert "at /properties/a: uniqueItems" in err
    (tmp_path / "r.json").write_text('{"$ref": "https://example.org/x.json"}')
    assert vedette("schema", "check", "r.json", model=False)[0] == 2
    (tmp_path / "x.json").write_text('{"type": "integer"}')
    known = "https://example.org/x.json=x.json"
    assert vedette("schema", "check", "r.json", "--refs", known, model=False)[0] == 0


def test_a_schema_nested_too_deeply_is_told_in_a_line(vedette, tmp_path):
    (tmp_path / "deep.json").write_text('{"not": ' * 300 + "{}" + "}" * 300)
    code, out, err = vedette("schema", "check", "deep.json", model=False)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "nested too deeply" in err
