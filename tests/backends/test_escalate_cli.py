"""`--escalate-to` from end to end: a tiny calibrated model, and a larger tier behind a URL."""

from __future__ import annotations

import json
import random
import statistics

import orjson
import pytest
import stamina
from fake_http import Reply, chat, error

from vedette.cli.main import run

CHAT = "/v1/chat/completions"
JOB = ("classify", "rows.jsonl", "--labels", "bad,good", "--thresholds", "t.json")
N_ROWS = 30


@pytest.fixture
def desk(tmp_path, tiny_full, capfd, monkeypatch):
    monkeypatch.setenv("VEDETTE_OFFLINE", "1")
    monkeypatch.setenv("VEDETTE_THREADS", "1")
    monkeypatch.setenv("VEDETTE_CONTEXT_TOKENS", "2048")
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("VEDETTE_MODEL", str(tiny_full))
    monkeypatch.chdir(tmp_path)
    rng = random.Random(1)
    rows = [
        {"text": f"row {i} of some {rng.choice('abcdef')}", "label": ("good", "bad")[i % 2]}
        for i in range(N_ROWS)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def call(*tokens: str) -> tuple[int, str, str]:
        code = run(tokens)
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    calibrate = ("calibrate", "classify", "--data", "rows.jsonl", "--out", "t.json", "--quiet")
    assert call(*calibrate, "--alpha", "0.9", "--delta", "0.5")[0] == 0
    confidences = [line["value"]["probability"] for line in parsed(call(*JOB, "--quiet")[1])]
    file = json.loads((tmp_path / "t.json").read_text())
    kept = {"error_bound": 0.9, "n_kept": 100, "n_wrong": 50, "n_rows": 200}
    above = statistics.median(confidences)
    file["questions"]["label"]["threshold"] = {"above": above, **kept}
    (tmp_path / "t.json").write_text(json.dumps(file))  # so that half of the rows are kept
    return call


@pytest.fixture
def to(fake) -> tuple[str, str]:
    fake.on(CHAT, chat('{"answer":"good"}', prompt=50, answer=2))
    return "--escalate-to", f"openai:{fake.url}/v1"


def parsed(out: str) -> list[dict]:
    return [json.loads(line) for line in out.splitlines()]


@pytest.fixture
def kept(desk) -> list[bool]:
    """Of each row, whether the small model's answer is kept."""
    return [line["value"]["keep"] for line in parsed(desk(*JOB, "--quiet")[1])]


def test_what_is_not_kept_is_asked_there_and_the_summary_accounts_for_it(
    desk, to, kept, fake, tiny_full
):
    code, out, err = desk(*JOB, *to, "--audit", "0", "--price", "1,10")
    assert code == 0, err
    for line, keep in zip(parsed(out), kept, strict=True):
        assert line["value"]["keep"] == keep
        assert line["value"]["tier"] == (str(tiny_full) if keep else "fake-model")
        if not keep:
            assert line["value"]["label"] == "good"
            assert line["large_usage"] == {"prompt_tokens": 50, "completion_tokens": 2}
    n_escalated = N_ROWS - sum(kept)
    assert 0 < n_escalated < N_ROWS
    assert len(fake.seen[CHAT]) == n_escalated
    assert f"escalated: {n_escalated} rows ({n_escalated / N_ROWS:.1%}) to fake-model" in err
    assert f"tokens of fake-model: {50 * n_escalated:,} in, {2 * n_escalated} out" in err
    assert "money: 0.00" in err


def test_an_audit_of_everything_asks_everything_and_changes_no_kept_answer(desk, to, kept, fake):
    code, out, err = desk(*JOB, *to, "--audit", "1", "--json")
    assert code == 0
    found = json.loads(err.splitlines()[-1])["escalation"]
    assert len(fake.seen[CHAT]) == N_ROWS
    audit = found["questions"]["label"]["audit"]
    labels = [line["gate"]["label"]["small"] for line in parsed(out)]
    assert audit["n"] == sum(kept)
    assert audit["differing"] == sum(
        keep and label != "good" for keep, label in zip(kept, labels, strict=True)
    )
    for line, keep, label in zip(parsed(out), kept, labels, strict=True):
        assert line["value"]["label"] == (label if keep else "good")


def test_a_job_that_was_killed_goes_on_and_its_accounts_are_those_of_an_undisturbed_one(
    desk, to, fake, tmp_path
):
    def job(out: str) -> dict:
        code, said, _ = desk(*JOB, *to, "--audit", "0.3", "--out", out, "--json")
        assert code == 0
        return json.loads(said)

    whole = job("whole.jsonl")
    n_whole = len(fake.seen[CHAT])
    assert job("cut.jsonl")["escalation"] == whole["escalation"]
    for name, share in (("cut.jsonl", 0.3), ("cut.jsonl.journal", 0.6)):
        path = tmp_path / name
        content = path.read_bytes()
        path.write_bytes(content[: int(len(content) * share)])  # as kill -9 leaves them
    before = len(fake.seen[CHAT])
    resumed = job("cut.jsonl")
    assert resumed["from_journal"] > 0
    assert 0 < len(fake.seen[CHAT]) - before < n_whole
    assert resumed["escalation"] == whole["escalation"]
    assert (tmp_path / "cut.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    code, _, err = desk(*JOB, *to, "--audit", "0.3", "--out", "cut.jsonl")
    assert code == 0
    assert "nothing to do" in err
    assert "escalated: " in err


def test_a_larger_tier_that_is_down_costs_error_rows_and_is_mended(desk, to, kept, fake, tmp_path):
    fake.on(CHAT, Reply(reset=True))
    with stamina.set_testing(True, attempts=10, cap=True):
        code, _, err = desk(*JOB, *to, "--audit", "0", "--out", "o.jsonl")
    assert code == 1
    lines = parsed((tmp_path / "o.jsonl").read_text())
    assert [line["ok"] for line in lines] == kept
    failed = next(line["error"] for line in lines if not line["ok"])
    assert failed["code"] == "server_unreachable"
    assert failed["message"].startswith("the larger tier, fake-model: ")
    fake.on(CHAT, chat("bad"))
    code, _, err = desk(*JOB, *to, "--audit", "0", "--out", "o.jsonl", "--retry-failed")
    assert code == 0, err
    mended = parsed((tmp_path / "o.jsonl").read_text())
    labels = [one["value"]["label"] for one, keep in zip(mended, kept, strict=True) if not keep]
    assert set(labels) == {"bad"}


def test_a_larger_tier_that_limits_its_rate_is_waited_for(desk, to, kept, fake):
    fake.on(CHAT, error(429, "slow down"), error(429, "slow down"), chat("good"))
    with stamina.set_testing(True, attempts=10, cap=True):
        code, _, err = desk(*JOB, *to, "--audit", "0")
    assert code == 0
    assert "tier 1 resent requests: 2" in err


def test_two_models_of_this_process_are_tiers_too(desk, kept, tiny_full, tiny_sliding):
    code, out, err = desk(*JOB, "--escalate-to", f"local:{tiny_sliding}", "--audit", "1")
    assert code == 0, err
    for line, keep in zip(parsed(out), kept, strict=True):
        assert line["value"]["tier"] == str(tiny_full if keep else tiny_sliding)
        assert line["value"]["probability"] > 0
    assert f"tokens of {tiny_sliding}: " in err


def test_rows_may_come_through_a_pipe_and_identical_ones_are_asked_once(desk, to, fake, tmp_path):
    rows = [orjson.dumps({"text": "row 0 of some b"})] * 5
    (tmp_path / "same.jsonl").write_bytes(b"\n".join(rows))
    job = ("classify", "same.jsonl", *JOB[2:], *to, "--audit", "1", "--json")
    code, out, err = desk(*job)
    assert code == 0
    assert len({json.dumps(line["value"]) for line in parsed(out)}) == 1
    found = json.loads(err.splitlines()[-1])["escalation"]
    assert (found["rows"], found["large"]["rows"], len(fake.seen[CHAT])) == (5, 1, 1)


BARE = JOB[:4]
WHY = [
    ((*BARE, "--escalate-to", "local:x"), "needs --thresholds"),
    ((*JOB, "--escalate-to", "nonsense"), "'nonsense' is no backend"),
    ((*JOB, "--escalate-to", "local"), "the smaller tier and the larger one too"),
    ((*JOB, "--escalate-to", "local:/nowhere.gguf"), "/nowhere.gguf"),
    ((*JOB, "--audit", "0.1"), "--audit goes with --escalate-to"),
    ((*JOB, "--price", "1"), "--price goes with --escalate-to"),
    ((*JOB, "--escalate-to", "local:x", "--audit", "2"), "from 0 to 1"),
    ((*JOB, "--escalate-to", "local:x", "--price", "dear"), "'dear'"),
    ((*JOB, "--escalate-two", "local:x"), 'Did you mean "--escalate-to"'),
]


@pytest.mark.parametrize(("tokens", "said"), WHY, ids=[said for _, said in WHY])
def test_what_cannot_run_says_why_in_one_line(desk, tokens, said):
    code, out, err = desk(*tokens)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_evidence_that_the_larger_tier_cannot_give_is_said_before_the_first_row(desk, to, fake):
    code, out, err = desk(*JOB, *to, "--evidence")
    assert (code, out) == (2, "")
    assert "the larger tier, fake-model: evidence needs" in err
    assert not fake.seen[CHAT]
