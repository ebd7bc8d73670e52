"""`vedette decide` from end to end on a tiny random model."""

from __future__ import annotations

import json

import pytest

from vedette.cli.main import run

WIRE = {
    "route": {"type": "choice", "instructions": "Which team?", "criteria": {"a": "x", "b": None}},
    "late": {"type": "noul", "instructions": "Late?"},
}


@pytest.fixture
def call(tmp_path, tiny_full, capfd, monkeypatch):
    monkeypatch.setenv("VEDETTE_OFFLINE", "1")
    monkeypatch.setenv("VEDETTE_THREADS", "1")
    monkeypatch.setenv("VEDETTE_CONTEXT_TOKENS", "2048")
    monkeypatch.setenv("VEDETTE_MODEL", str(tiny_full))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text("Where is my parcel?\n\n我的包裹在哪里？\n", "utf-8")
    (tmp_path / "q.json").write_text(json.dumps(WIRE))

    def call(*tokens: str) -> tuple[int, str, str]:
        code = run(["decide", "in.txt", "--quiet", *tokens])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


def test_questions_from_the_command_line_and_from_a_file_are_answered_together(call):
    code, out, _ = call("--ask", "urgent=Is it urgent?", "--ask", "Mood? bad<good", "-q", "x")
    assert code == 2  # there is no -q
    code, out, _ = call(
        "--ask", "urgent=Is it urgent?", "--ask", "Mood? bad<good", "--questions", "q.json"
    )
    assert code == 0
    first, empty, chinese = map(json.loads, out.splitlines())
    assert list(first["value"]["answers"]) == ["urgent", "q2", "route", "late"]
    assert empty["value"] == {"answers": {}}
    for line in (first, chinese):
        answers = line["value"]["answers"]
        assert 0 <= answers["urgent"]["noul"] <= 1
        assert sum(answers["route"]["probabilities"].values()) == pytest.approx(1, abs=1e-3)
        assert 0 <= answers["q2"]["score"] <= 1


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ((), "there is no question"),
        (("--ask", "Which? a|"), "'Which? a|' has an empty option"),
        (("--ask", "a=Is it?", "--ask", "a=Is it so?"), "two questions have the id 'a'"),
        (("--questions", "in.txt"), "not JSON"),
        (("--questions", "none.json"), "none.json"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(call, tokens, message):
    code, out, err = call(*tokens)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
