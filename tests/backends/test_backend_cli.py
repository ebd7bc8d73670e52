"""`--backend` on the command line: every task verb takes it, and refuses what it cannot have."""

from __future__ import annotations

import pytest
import stamina
from fake_http import Reply, chat, error

from vedette.cli.main import VERBS, run

CHAT = "/v1/chat/completions"
TASKS = ("extract", "classify", "generate", "tool", "form", "command", "config-text", "sql")


@pytest.fixture(autouse=True)
def one_thread(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VEDETTE_THREADS", "1")
    (tmp_path / "rows.txt").write_text("first\nsecond\nthird\n")


@pytest.fixture
def address(fake) -> str:
    return f"openai:{fake.url}/v1"


@pytest.mark.parametrize("verb", TASKS)
def test_every_task_verb_has_the_option(verb, capsys):
    assert verb in VERBS
    assert run([verb, "--help"]) == 0
    assert "--backend" in capsys.readouterr().out


def test_classification_without_scores_says_so(fake, address, capfd):
    fake.on(CHAT, chat('{"answer":"awful"}'))
    code = run(["classify", "rows.txt", "--labels", "great,awful", "--backend", address])
    out, err = capfd.readouterr()
    assert code == 0, err
    assert out.splitlines()[0] == (
        '{"id":"1","ok":true,"value":{"label":"awful","probability":null,"scored":false},'
        '"usage":{"prompt_tokens":10,"completion_tokens":3,"forced_tokens":0}}'
    )
    assert "prior" not in err


def test_the_summary_tells_what_was_sent_again_and_asked_again(fake, address, capfd):
    fake.on(CHAT, error(503, "busy"), chat("it is awful"), chat("awful"))
    with stamina.set_testing(True, attempts=10, cap=True):
        code = run(["classify", "rows.txt", "--labels", "great,awful", "--backend", address])
    err = capfd.readouterr().err
    assert code == 0, err
    assert "resent requests: 1" in err
    assert "repaired answers: 1" in err


def test_a_job_whose_server_goes_away_goes_on_with_error_rows_and_is_mended(fake, address, capfd):
    job = ["classify", "rows.txt", "--labels", "great,awful", "--backend", address]
    job += ["--out", "out.jsonl", "--workers", "1"]
    fake.on(CHAT, chat("great"), Reply(reset=True))
    with stamina.set_testing(True, attempts=10, cap=True):
        assert run(job) == 1
    assert "--retry-failed" in capfd.readouterr().err
    fake.on(CHAT, chat("awful"))
    assert run([*job, "--retry-failed"]) == 0
    with open("out.jsonl") as lines:
        labels = [line.split('"label":"')[1].split('"')[0] for line in lines]
    assert labels == ["great", "awful", "awful"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["extract", "rows.txt", "--fields", "a:span"], "x-verbatim"),
        (["classify", "rows.txt", "--labels", "a,b", "--evidence"], "spans of the input"),
        (["generate", "rows.txt", "--grammar", 'root ::= "a"'], "no grammars"),
        (["classify", "rows.txt", "--labels", "a,b", "--model", "m"], "model has no effect"),
    ],
)
def test_what_this_backend_lacks_is_said_before_the_first_row(
    fake, address, capfd, arguments, reason
):
    assert run([*arguments, "--backend", address]) == 2
    err = capfd.readouterr().err
    assert reason in err
    assert len(err.splitlines()) == 1
    assert not fake.seen[CHAT]


def test_a_nonsense_address_is_one_line_that_says_what_there_is(capfd):
    assert run(["classify", "rows.txt", "--labels", "a,b", "--backend", "nonsense"]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("vedette: 'nonsense' is no backend.")
    assert "openai:URL[#MODEL]" in line


def test_one_prompt_and_its_prompt_are_asked_of_it_too(fake, address, capfd):
    fake.on(CHAT, chat("b"))
    assert run(["generate", "--prompt", "x", "--choices", "a,b", "--backend", address]) == 0
    assert capfd.readouterr().out == "b\n"
    show = ["classify", "rows.txt", "--labels", "a,b", "--show-prompt", "--backend", address]
    assert run(show) == 0
    assert '"content": "first"' in capfd.readouterr().out


def test_a_real_llama_server_answers_a_job(tiny_server, capfd):
    address = f"llama-server:{tiny_server.url}"
    assert run(["classify", "rows.txt", "--labels", "positive,negative", "--backend", address]) == 0
    out, err = capfd.readouterr()
    assert out.count('"probability":0.') == 3
    assert "3 valid" in err
