"""Text completions, embeddings and tokens."""

from __future__ import annotations

import base64

import httpx2
import numpy as np
import openai
import pytest
from served import served

from vedette.backends.none import NoModel
from vedette.serve.app import create_app
from vedette.serve.options import ServeOptions


def complete(client, prompt="level: INFO", **fields):
    return client.completions.create(model="tiny", prompt=prompt, **fields)


def test_a_text_goes_on_whole_or_in_pieces(client):
    whole = complete(client, max_tokens=8)
    assert (whole.object, whole.usage.completion_tokens) == ("text_completion", 8)
    how = {"stream": True, "stream_options": {"include_usage": True}}
    *chunks, last = complete(client, max_tokens=8, **how)
    assert "".join(chunk.choices[0].text for chunk in chunks) == whole.choices[0].text
    assert chunks[-1].choices[0].finish_reason == whole.choices[0].finish_reason == "length"
    assert last.usage.total_tokens == whole.usage.total_tokens


def test_each_prompt_has_n_answers_in_order(client):
    alone = [
        complete(client, prompt, max_tokens=4, temperature=1.0, seed=5, n=2)
        for prompt in ("yes", "no, not")
    ]
    both = complete(client, ["yes", "no, not"], max_tokens=4, temperature=1.0, seed=5, n=2)
    texts = [choice.text for answer in alone for choice in answer.choices]
    assert [choice.text for choice in both.choices] == texts
    assert both.usage.prompt_tokens == sum(answer.usage.prompt_tokens for answer in alone)


def test_the_prompt_is_read_as_it_stands(client, http):
    prompt = "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n"
    chat = client.chat.completions.create(
        model="tiny", messages=[{"role": "user", "content": "hello"}], max_tokens=6
    )
    raw = complete(client, prompt, max_tokens=6)
    assert raw.choices[0].text == chat.choices[0].message.content
    body = {"messages": [{"role": "user", "content": "hello"}]}
    assert http.post("/apply-template", json=body).json() == {"prompt": prompt}


def test_logprobs_have_their_offsets(client):
    found = complete(client, max_tokens=5, logprobs=0).choices[0].logprobs
    assert len(found.tokens) == len(found.token_logprobs) == len(found.text_offset) == 5
    assert found.text_offset[1] == len(found.tokens[0])


@pytest.mark.parametrize(
    ("fields", "param"),
    [({"logprobs": 21}, "logprobs"), ({"echo": True}, "echo"), ({"suffix": "x"}, "suffix")],
)
def test_what_text_completions_cannot_do(client, fields, param):
    with pytest.raises(openai.BadRequestError) as refused:
        complete(client, **fields)
    assert refused.value.param == param


def test_token_ids_and_no_prompts_are_refused(client):
    for prompt in ([1, 2], [], [[1]]):
        with pytest.raises(openai.BadRequestError) as refused:
            complete(client, prompt)
        assert refused.value.param.startswith("prompt")


def test_embeddings_are_unit_vectors_the_same_in_both_encodings(client, http):
    texts = ["hello", "the server failed", "hello"]
    found = client.embeddings.create(model="tiny", input=texts)
    assert [one.index for one in found.data] == [0, 1, 2]
    first, second, third = (np.array(one.embedding) for one in found.data)
    assert np.linalg.norm(first) == pytest.approx(1, abs=1e-5)
    assert first @ third > 0.999 > first @ second
    assert found.usage.prompt_tokens > 0
    body = {"model": "tiny", "input": "hello", "encoding_format": "base64"}
    written = http.post("/v1/embeddings", json=body).json()["data"][0]["embedding"]
    packed = np.frombuffer(base64.b64decode(written), "<f4")
    assert packed == pytest.approx(first, abs=1e-3)


@pytest.mark.parametrize("fields", [{"input": []}, {"input": ""}, {"input": "a", "dimensions": 8}])
def test_embeddings_that_cannot_be(client, fields):
    with pytest.raises(openai.BadRequestError):
        client.embeddings.create(model="tiny", **fields)


def test_tokens_and_back(http):
    text = "hello 世界 <|im_end|>"
    for options in ({}, {"parse_special": False}):
        tokens = http.post("/tokenize", json={"content": text, **options}).json()["tokens"]
        assert http.post("/detokenize", json={"tokens": tokens}).json() == {"content": text}
    special = http.post("/tokenize", json={"content": text}).json()["tokens"]
    assert len(special) < len(tokens)
    pieces = http.post("/tokenize", json={"content": "界 the", "with_pieces": True}).json()[
        "tokens"
    ]
    read = b"".join(
        piece["piece"].encode() if isinstance(piece["piece"], str) else bytes(piece["piece"])
        for piece in pieces
    )
    assert read.decode() == "界 the"
    reply = http.post("/detokenize", json={"tokens": [10**6]})
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "invalid_input")


def test_what_a_backend_cannot_do_is_501():
    bodies = {
        "/v1/embeddings": {"model": "none", "input": "x"},
        "/tokenize": {"content": "x"},
        "/detokenize": {"tokens": [1]},
        "/apply-template": {"messages": [{"role": "user", "content": "x"}]},
        "/v1/completions": {"model": "none", "prompt": "x"},
    }
    with served(create_app(NoModel(), ServeOptions(model="none"))) as url:
        for path, body in bodies.items():
            reply = httpx2.post(f"{url}{path}", json=body)
            assert (reply.status_code, reply.json()["error"]["type"]) == (
                501,
                "not_supported_error",
            ), path
