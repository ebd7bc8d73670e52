"""Log-probabilities, penalties and biases over HTTP, whole and streamed."""

from __future__ import annotations

import json
import math

import pytest

HELLO = [{"role": "user", "content": "hello 世界"}]
SCHEMA = {
    "type": "object",
    "properties": {"level": {"enum": ["INFO", "WARN"]}, "ok": {"type": "boolean"}},
    "required": ["level", "ok"],
}


def ask(client, **fields):
    return client.chat.completions.create(model="tiny", messages=HELLO, **fields)


def test_the_likeliest_tokens_are_told(client):
    tokens = ask(client, max_tokens=4, logprobs=True, top_logprobs=5).choices[0].logprobs.content
    assert len(tokens) == 4
    for one in tokens:
        assert len(one.top_logprobs) == 5
        assert one.top_logprobs[0].token == one.token
        assert one.top_logprobs[0].logprob == one.logprob
        if one.bytes is not None:
            assert bytes(one.bytes).decode() == one.token


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"temperature": 1.5, "seed": 8},
        {"extra_body": {"grammar": 'root ::= "level: " [a-z]{3} ", again: " [0-9]{2}'}},
        {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}},
    ],
)
def test_a_stream_tells_the_same_log_probabilities(client, how):
    how = {"max_tokens": 40, "logprobs": True, "top_logprobs": 2, **how}
    whole = ask(client, **how).choices[0]
    chunks = [chunk.choices[0] for chunk in ask(client, stream=True, **how)]
    streamed = [one for chunk in chunks if chunk.logprobs for one in chunk.logprobs.content]
    assert [one.token for one in streamed] == [one.token for one in whole.logprobs.content]
    for one, other in zip(streamed, whole.logprobs.content, strict=True):
        assert one.logprob == pytest.approx(other.logprob, abs=0.05)
        assert len(one.top_logprobs) == 2
    assert "".join(chunk.delta.content or "" for chunk in chunks) == whole.message.content


def test_each_chunk_brings_the_tokens_of_its_text(client):
    chunks = [chunk.choices[0] for chunk in ask(client, stream=True, max_tokens=12, logprobs=True)]
    assert chunks[0].logprobs is None
    n_text = n_told = 0
    for chunk in chunks[1:-1]:
        n_text += len(chunk.delta.content)
        n_told += sum(len(one.token) for one in chunk.logprobs.content) if chunk.logprobs else 0
        assert n_told >= n_text


def test_text_completions_tell_them_in_columns(client):
    how = {"model": "tiny", "prompt": "hello", "max_tokens": 6, "logprobs": 3}
    whole = client.completions.create(**how).choices[0].logprobs
    assert [len(top) <= 3 for top in whole.top_logprobs] == [True] * 6
    for token, logprob, top in zip(
        whole.tokens, whole.token_logprobs, whole.top_logprobs, strict=True
    ):
        assert top[token] == logprob == max(top.values())
    tokens, offsets = [], []
    for chunk in client.completions.create(**how, stream=True):
        if chunk.choices[0].logprobs:
            tokens += chunk.choices[0].logprobs.tokens
            offsets += chunk.choices[0].logprobs.text_offset
    assert (tokens, offsets) == (whole.tokens, whole.text_offset)


def test_a_bias_and_penalties_are_heeded(client, http):
    plain = ask(client, max_tokens=1, logprobs=True, top_logprobs=2).choices[0]
    best, second = (one.token for one in plain.logprobs.content[0].top_logprobs)
    ids = {
        text: http.post("/tokenize", json={"content": text}).json()["tokens"]
        for text in (best, second)
    }
    (banned,) = ids[best]
    other = ask(client, max_tokens=1, logit_bias={str(banned): -100})
    assert other.choices[0].message.content == second
    again = ask(client, max_tokens=12, logit_bias={str(banned): 15}, presence_penalty=0)
    penalised = ask(client, max_tokens=12, logit_bias={str(banned): 15}, frequency_penalty=2)
    n_plain = again.choices[0].message.content.count(best)
    assert n_plain > penalised.choices[0].message.content.count(best)


def test_log_probabilities_are_numbers_of_json(http):
    body = {"model": "tiny", "messages": HELLO, "max_tokens": 3, "logprobs": True}
    text = http.post("/v1/chat/completions", json=body).text
    for one in json.loads(text)["choices"][0]["logprobs"]["content"]:
        assert math.isfinite(one["logprob"])
