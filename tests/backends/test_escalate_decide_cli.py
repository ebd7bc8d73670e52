"""`decide --escalate-to` from end to end: two questions, each kept or asked elsewhere."""

from __future__ import annotations

import json

import pytest
from fake_http import chat

from vedette.cli.main import run

CHAT = "/v1/chat/completions"
ASK = ("--ask", "late=Is it late?", "--ask", "team=Which team? a|b")


@pytest.fixture
def desk(tmp_path, tiny_full, capfd, monkeypatch):
    monkeypatch.setenv("VEDETTE_OFFLINE", "1")
    monkeypatch.setenv("VEDETTE_THREADS", "1")
    monkeypatch.setenv("VEDETTE_CONTEXT_TOKENS", "2048")
    monkeypatch.setenv("VEDETTE_MODEL", str(tiny_full))
    monkeypatch.chdir(tmp_path)
    rows = [
        {"text": f"row {i}", "late": ("yes", "no")[i % 2], "team": "ab"[i % 3 == 0]}
        for i in range(12)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def call(*tokens: str) -> tuple[int, str, str]:
        code = run(tokens)
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    code, _, err = call(
        "calibrate", "decide", "--data", "rows.jsonl", *ASK, "--out", "t.json", "--quiet"
    )
    assert code == 0, err
    file = json.loads((tmp_path / "t.json").read_text())
    bound = {"error_bound": 0.05, "n_kept": 10, "n_wrong": 0, "n_rows": 12}
    for name, above in (("late", 0.0), ("team", 1.0)):  # late is always kept, team never
        file["questions"][name]["threshold"] = {"above": above, **bound}
    (tmp_path / "t.json").write_text(json.dumps(file))
    return call


def test_the_questions_that_are_not_kept_are_written_by_the_larger_model(desk, fake, tiny_full):
    fake.on(CHAT, chat('{"answer":"b"}'))
    to = ("--thresholds", "t.json", "--escalate-to", f"openai:{fake.url}/v1", "--audit", "0")
    code, out, err = desk("decide", "rows.jsonl", *ASK, *to)
    assert code == 0, err
    for line in map(json.loads, out.splitlines()):
        late, team = line["value"]["answers"].values()
        assert (late["keep"], late["tier"]) == (True, str(tiny_full))
        assert (team["choice"], team["keep"], team["tier"]) == ("b", False, "fake-model")
    assert len(fake.seen[CHAT]) == 12
    assert "escalated: 12 rows (100.0%) to fake-model" in err


def test_without_thresholds_it_is_refused(desk):
    code, out, err = desk("decide", "rows.jsonl", *ASK, "--escalate-to", "local:x")
    assert (code, out) == (2, "")
    assert "needs --thresholds" in err
