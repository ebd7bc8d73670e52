"""`vedette route` and the refusal of tasks, from end to end on a tiny random model."""

from __future__ import annotations

import json

import pytest

from vedette.cli import red_lines
from vedette.cli.job import JobOptions
from vedette.cli.main import run
from vedette.cli.red_lines import refuse_red_lines
from vedette.errors import RedLine

SUM = "Add up all amounts and give the total."


@pytest.fixture
def call(tmp_path, tiny_full, capfd, monkeypatch):
    monkeypatch.setenv("VEDETTE_OFFLINE", "1")
    monkeypatch.setenv("VEDETTE_THREADS", "1")
    monkeypatch.setenv("VEDETTE_CONTEXT_TOKENS", "4096")
    monkeypatch.setenv("VEDETTE_MODEL", str(tiny_full))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text("Lamp 31, rope 4.\n", "utf-8")
    rows = [{"text": "Who signed it?", "letter": "Signed: Ada."}, {"text": SUM, "letter": "3, 4"}]
    form = {"type": "object", "properties": {"sum": {"type": ["integer", "null"]}}}
    (tmp_path / "form.json").write_text(json.dumps(form))
    (tmp_path / "tasks.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")

    def call(*tokens: str) -> tuple[int, str, str]:
        code = run([*tokens, "--quiet"])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


def routes(out):
    return [json.loads(line)["value"]["route"] for line in out.splitlines()]


def test_rows_are_routed_by_rules_without_a_model(call, monkeypatch):
    monkeypatch.setenv("VEDETTE_MODEL", "/nowhere.gguf")
    code, out, _ = call("route", "tasks.jsonl", "--rules-only", "--input", "letter")
    assert (code, routes(out)) == (0, ["small", "up"])
    code, out, _ = call("route", "tasks.jsonl", "--rules-only")
    assert (code, routes(out)) == (0, ["up", "up"])
    code, _, err = call("route", "tasks.jsonl", "--rules-only", "--model", "x")
    assert (code, "--model is about the model" in err) == (2, True)


def test_rows_are_routed_with_a_model(call):
    code, out, _ = call("route", "tasks.jsonl", "--input", "letter")
    assert code == 0
    for line in map(json.loads, out.splitlines()):
        assert set(line["value"]) == {"route", "kind", "probability", "reason"}
        assert 0 <= line["value"]["probability"] <= 1


@pytest.mark.parametrize(
    "tokens",
    [
        ("extract", "in.txt", "--fields", "sum:int", "--instructions", SUM),
        ("classify", "in.txt", "--labels", "a,b", "--instructions", SUM),
        ("decide", "in.txt", "--ask", "Is the sum of the amounts over 30?"),
        ("decide", "in.txt", "--ask", "Is it late?", "--instructions", SUM),
        ("generate", "in.txt", "--instructions", SUM),
        ("form", "in.txt", "--schema", "form.json", "--instructions", SUM),
        ("generate", "--prompt", "Who invented the zip?"),
    ],
)
def test_a_task_beyond_a_red_line_is_refused_before_the_model_is_loaded(call, tokens, monkeypatch):
    monkeypatch.setenv("VEDETTE_MODEL", "/nowhere.gguf")
    code, out, err = call(*tokens)
    assert (code, out) == (2, "")
    assert "not to be trusted" in err
    assert "--force" in err
    assert err.count("\n") == 1
    code, _, err = call(*tokens, "--force")
    assert (code, "/nowhere.gguf" in err) == (2, True)  # it came to the model


def test_force_goes_on(call):
    code, out, _ = call(
        "extract", "in.txt", "--fields", "sum:int", "--instructions", SUM, "--force"
    )
    assert (code, json.loads(out)["ok"]) == (0, True)


@pytest.mark.parametrize(
    ("backend", "is_refused"),
    [
        ("local", True),
        ("llama-server:smollm2-135m", True),
        ("llama-server:http://127.0.0.1:9", False),
        ("openai:http://127.0.0.1:9/v1#large", False),
    ],
)
def test_a_server_of_somebody_else_may_have_a_model_of_any_size(backend, is_refused):
    options = JobOptions(backend=backend)
    if is_refused:
        with pytest.raises(RedLine):
            refuse_red_lines([SUM], options, force=False)
    else:
        refuse_red_lines([SUM], options, force=False)


def test_a_model_with_many_parameters_is_no_small_one(tiny_full, monkeypatch):
    options = JobOptions(model=str(tiny_full))
    with pytest.raises(RedLine):
        refuse_red_lines([SUM], options, force=False)
    monkeypatch.setattr(red_lines, "SMALL_PARAMETERS", 100)
    refuse_red_lines([SUM], options, force=False)
