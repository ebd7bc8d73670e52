"""vedette's own client at vedette's own door: one server is the backend of another."""

from __future__ import annotations

import json

import openai
import pytest
from openai import OpenAI
from served import served

from vedette.backends.openai_http import OpenAIBackend
from vedette.errors import InputTooLong
from vedette.serve.app import create_app
from vedette.types import Constraint, Message, Prompt, Request

HELLO = Prompt(messages=(Message("user", "hello 世界"),))
SCHEMA = {
    "type": "object",
    "properties": {"level": {"enum": ["INFO", "WARN"]}},
    "required": ["level"],
}


@pytest.fixture(scope="module")
def remote(url):
    backend = OpenAIBackend(f"{url}/v1", width=4)
    yield backend
    backend.close()


def test_the_client_finds_the_model_and_gets_the_same_answer(remote, tiny_backend):
    assert remote.name == "tiny"
    request = Request(prompt=HELLO, max_tokens=8)
    assert remote.submit(request).result(30).text == tiny_backend.submit(request).result(30).text


def test_a_constraint_holds_through_both(remote):
    constraint = Constraint("json_schema", json.dumps(SCHEMA))
    answer = remote.submit(Request(prompt=HELLO, constraint=constraint, max_tokens=40)).result(30)
    assert json.loads(answer.text).keys() == {"level"}


def test_errors_keep_their_kind(url):
    """The client believes in more room than there is, so that the server has to say it."""
    remote = OpenAIBackend(f"{url}/v1", context_tokens=100_000)
    prompt = Prompt(messages=(Message("user", "日 " * 1500),))
    try:
        with pytest.raises(InputTooLong, match="together at most 4096 fit"):
            remote.submit(Request(prompt=prompt, max_tokens=3000)).result(30)
    finally:
        remote.close()


def test_a_server_over_a_server(remote, client):
    with served(create_app(remote)) as outer:
        far = OpenAI(base_url=f"{outer}/v1", api_key="none", max_retries=0)
        ask = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 6}
        near = client.chat.completions.create(**ask).choices[0].message.content
        assert far.chat.completions.create(**ask).choices[0].message.content == near
        stream = far.chat.completions.create(**ask, stream=True)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == near
        with pytest.raises(openai.InternalServerError) as lacking:
            far.chat.completions.create(**ask, extra_body={"grammar": 'root ::= "a"'})
        assert (lacking.value.status_code, lacking.value.code) == (501, "capability_missing")
