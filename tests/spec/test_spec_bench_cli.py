"""`vedette spec bench` from end to end."""

from __future__ import annotations

import json

import pytest
from fake_spec_server import write_fake

from vedette.cli.main import run

SHORT = ("--max-tokens", "8")


@pytest.fixture
def call(tmp_path, tiny_full, capfd, monkeypatch):
    monkeypatch.setenv("VEDETTE_OFFLINE", "1")
    monkeypatch.setenv("VEDETTE_THREADS", "1")
    monkeypatch.setenv("VEDETTE_CONTEXT_TOKENS", "2048")
    monkeypatch.setenv("VEDETTE_MODEL", str(tiny_full))
    monkeypatch.chdir(tmp_path)

    def call(*tokens: str) -> tuple[int, str, str]:
        code = run(["spec", "bench", *(() if "--max-tokens" in tokens else SHORT), *tokens])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


def test_off_and_auto_are_compared_by_default(call, tmp_path):
    code, out, err = call("--requests", "1", "--html", "r.html")
    assert code == 0, err
    assert "baseline" in out
    assert "4 prompts in" in out
    assert "4 of 4 prompts" in err
    assert "overall" in (tmp_path / "r.html").read_text("utf-8")


def test_json_and_kept_figures(call):
    tokens = ("--requests", "1", "--policies", "off,off", "--runs", "x.jsonl", "--json", "--quiet")
    code, out, err = call(*tokens)
    assert (code, err) == (0, "")
    first = json.loads(out)
    assert [one["name"] for one in first["variants"]] == ["off", "off (2)"]
    code, out, _ = call(*tokens)
    assert json.loads(out)["comparisons"] == first["comparisons"]


def test_servers_are_compared(call, tmp_path, tiny_full):
    program = str(write_fake(tmp_path))
    code, out, err = call(
        "--server", program, "--requests", "2", "--variant", "plain",
        "--variant", f"draft: -md {tiny_full} --spec-type draft-simple",
        "--variant", f"ignored: -md {tiny_full}",
    )  # fmt: skip
    assert code == 0, err
    assert "slower" in out
    assert "ignored: a draft is loaded, and in 8 answers nothing was guessed" in out
    assert "right, by place" in out


def test_the_cost_of_steps(call, tmp_path, tiny_full):
    program = str(write_fake(tmp_path))
    code, out, err = call("--server", program, "--cost-curve", "2", "--draft", str(tiny_full))
    assert code == 0, err
    assert "a guess of the draft costs 0.20 of a plain step, each step +0.10 more" in out
    code, out, _ = call("--server", program, "--cost-curve", "2", "--json")
    assert json.loads(out)["v"] == {"2": 1.25, "3": 1.5}


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (("--policies", "off"), "a comparison needs two"),
        (("--max-tokens", "1"), "--max-tokens is 1"),
        (("--at-once", "1"), "--at-once goes with --variant"),
        (("--server", "x"), "--server goes with --variant or --cost-curve"),
        (("--variant", "a", "--policies", "off,auto"), "--policies does not go with --variant"),
        (("--variant", "a"), "needs two variants"),
        (("--cost-curve", "2", "--runs", "x"), "--runs does not go with --cost-curve"),
        (("--requests", "99"), "--requests is 99"),
        (("--prompts", "none.jsonl"), "none.jsonl"),
        (("--html", "."), "cannot write .: it is no file"),
        (("--seconds", "0"), "--seconds is 0; it must be above 0"),
        (("--seconds", "nan"), "--seconds is nan; it must be above 0"),
        (("--variant", "a", "--variant", "b -md x"), "--variant 'b -md x' has options in its name"),
    ],
)
def test_what_cannot_be_is_told_at_once(call, tokens, message):
    code, out, err = call(*tokens)
    assert (code, out) == (2, "")
    assert message in err
