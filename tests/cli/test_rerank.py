"""`vedette rerank` and `vedette rewrite` from end to end on a tiny random model."""

from __future__ import annotations

import json
import os

import pytest

from vedette.cli.main import run

CANDIDATES = ["cats purr", "dogs bark", "猫会叫", "birds sing"]


@pytest.fixture
def call(tmp_path, tiny_full, capfd, monkeypatch):
    for name, value in (("OFFLINE", "1"), ("THREADS", "1"), ("CONTEXT_TOKENS", "2048")):
        monkeypatch.setenv(f"VEDETTE_{name}", value)
    monkeypatch.setenv("VEDETTE_MODEL", str(tiny_full))
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"d{i}", "text": text} for i, text in enumerate(CANDIDATES)]
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, rows)))
    batch = [
        {"id": "q", "query": "do cats purr?", "documents": CANDIDATES},
        {"query": "x", "documents": [{"text": "a", "id": 5}, 7]},
        {"query": "x", "documents": []},
    ]
    (tmp_path / "batch.jsonl").write_text("\n".join(map(json.dumps, batch)))
    for name in ("empty", "empty.jsonl"):
        (tmp_path / name).write_text("")
    chats = [
        {"messages": [{"role": "user", "content": "I have a cat."}, {"role": "assistant",
         "content": "Nice."}, {"role": "user", "content": "does it purr"}]},
        {"messages": [{"role": "assistant", "content": "Hello."}]},
        {"text": "我的猫"},
    ]  # fmt: skip
    (tmp_path / "chat.jsonl").write_text("\n".join(map(json.dumps, chats)))

    def call(*tokens: str) -> tuple[int, list, str]:
        code = run([*tokens, *(() if "--help" in tokens else ("--quiet",))])
        captured = capfd.readouterr()
        return code, list(map(json.loads, captured.out.splitlines())), captured.err

    return call


def test_the_rows_of_a_file_are_candidates_of_one_query(call):
    code, (line,), _ = call("rerank", "c.jsonl", "--query", "do cats purr?", "--top", "9")
    assert code == 0
    results = line["value"]["results"]
    assert sorted(result["index"] for result in results) == [0, 1, 2, 3]
    assert all(result["id"] == f"d{result['index']}" for result in results)
    scores = [result["relevance_score"] for result in results]
    assert scores == sorted(scores, reverse=True)
    _, (again,), _ = call("rerank", "c.jsonl", "--query", "do cats purr?", "--top", "2")
    assert len(again["value"]["results"]) == 2


@pytest.mark.parametrize("method", ["likelihood", "yes-no"])
def test_the_model_may_read_the_first_candidates(call, method):
    code, (line,), _ = call(
        "rerank", "c.jsonl", "--query", "cats", "--method", method, "--read", "2", "--top", "4"
    )
    assert code == 0
    assert line["value"]["stages"]["read"] == 2
    assert sorted(result["index"] for result in line["value"]["results"]) == [0, 1, 2, 3]


def test_a_second_query_over_the_same_candidates_asks_about_itself_alone(call):
    _, (first,), _ = call("rerank", "c.jsonl", "--query", "do cats purr?")
    _, (again,), _ = call("rerank", "c.jsonl", "--query", "do cats purr?")
    assert again["value"] == first["value"]
    assert 0 < again["usage"]["prompt_tokens"] < first["usage"]["prompt_tokens"] / 2


def test_by_words_no_model_is_loaded(call, monkeypatch):
    monkeypatch.setenv("VEDETTE_MODEL", "no-such-model")
    code, (line,), _ = call(
        "rerank", "c.jsonl", "--query", "birds", "--method", "words", "--top", "1"
    )
    assert (code, line["value"]["results"][0]["id"]) == (0, "d3")
    assert "similarity" not in line["value"]["results"][0]
    code, lines, err = call(
        "rerank", "c.jsonl", "--query", "x", "--method", "words", "--model", "y"
    )
    assert (code, lines) == (2, [])
    assert "model" in err


def test_each_row_may_have_a_query_of_its_own_and_a_bad_one_is_an_error_row(call):
    code, (good, bad, none), _ = call("rerank", "batch.jsonl", "--return-documents")
    assert code == 1
    assert good["id"] == "q"
    found = {r["document"]["text"]: r["index"] for r in good["value"]["results"]}
    assert found == {text: i for i, text in enumerate(CANDIDATES)}
    assert "documents[1] must be a text" in bad["error"]["message"]
    assert none["value"]["results"] == []
    assert none["value"]["stages"] == {"candidates": 0, "read": 0, "windows": 0}


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (("c.jsonl", "--query", " "), "--query is empty"),
        (("c.jsonl", "--query", "x", "--documents-field", "d"), "--documents-field"),
        (("c.jsonl", "--query", "x", "--text-field", "t"), "no field 't'"),
        (("c.jsonl", "--query", "x", "--top", "0"), "top is 0"),
        (("c.jsonl", "--query", "x", "--read", "5"), "read has no meaning"),
        (("none.jsonl", "--query", "x"), "none.jsonl"),
        (("empty.jsonl", "--query", "x"), "there are no candidates in empty.jsonl"),
        (("empty.jsonl", "--query", "x", "--method", "words"), "there are no candidates"),
        (("empty", "empty.jsonl", "--query", "x"), "no candidates in empty, empty.jsonl"),
        (("empty", "--method", "words"), "give --query, or rows with `query`"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(call, tokens, message):
    code, lines, err = call("rerank", *tokens)
    assert (code, lines) == (2, [])
    assert message in err


def test_stdin_without_a_candidate_is_told_too(call, monkeypatch):
    with open(os.devnull) as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        code, lines, err = call("rerank", "-", "--query", "x", "--method", "words")
    assert (code, lines) == (2, [])
    assert "there are no candidates in stdin" in err


def test_rows_are_rewritten_conversations_among_them(call):
    code, (chat, bad, chinese), _ = call(
        "rewrite", "chat.jsonl", "--mode", "query", "--mode", "hyde"
    )
    assert code == 1
    assert "not the user's" in bad["error"]["message"]
    for line in (chat, chinese):
        assert set(line["value"]) >= {"query", "passages"}
        assert len(line["value"]["passages"]) == 1


def test_the_prompt_of_a_conversation_shows_what_came_before(call, capfd):
    assert run(["rewrite", "chat.jsonl", "--show-prompt", "--quiet"]) == 0
    shown = capfd.readouterr().out
    assert shown.index("user: I have a cat.") < shown.index("Question: does it purr")


def test_a_history_field_must_be_there(call):
    code, lines, _ = call("rewrite", "chat.jsonl", "--history", "before")
    assert code == 1
    assert all("before" in line["error"]["message"] or "text" in line["error"]["message"]
               for line in lines)  # fmt: skip


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (("--count", "5"), "count goes with the modes variants and decompose"),
        (("--mode", "hyde", "--count", "5"), "count goes with the modes variants"),
        (("--mode", "variants", "--passages", "2"), "passages goes with the mode hyde"),
        (("--retry-failed",), "there is no journal"),
    ],
)
def test_an_option_of_rewrite_that_nothing_would_use_is_refused(call, tokens, message):
    code, lines, err = call("rewrite", "chat.jsonl", *tokens)
    assert (code, lines) == (2, [])
    assert message in err
