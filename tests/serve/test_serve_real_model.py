"""A small real model behind the door: text that makes sense, in order and under a schema."""

from __future__ import annotations

import json

import pytest
from openai import OpenAI
from served import served

from vedette.backends.local import LocalBackend
from vedette.engine.options import EngineOptions
from vedette.serve.app import create_app
from vedette.serve.options import ServeOptions

pytestmark = pytest.mark.model

MODEL = "smollm2-135m"


@pytest.fixture(scope="module")
def client():
    backend = LocalBackend(MODEL, EngineOptions(threads=1, width=2))
    with served(create_app(backend, ServeOptions(model=MODEL))) as url:
        yield OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    backend.close()


def test_it_answers_in_words_and_streams_the_same(client):
    messages = [{"role": "user", "content": "Tell me a long story about a fox."}]
    whole = client.chat.completions.create(model=MODEL, messages=messages, max_tokens=24)
    assert "fox" in whole.choices[0].message.content
    stream = client.chat.completions.create(
        model=MODEL, messages=messages, max_tokens=24, stream=True
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
    assert text == whole.choices[0].message.content


def test_a_schema_and_an_embedding(client):
    schema = {
        "type": "object",
        "properties": {"city": {"enum": ["Paris", "Rome"]}, "country": {"enum": ["France"]}},
        "required": ["city", "country"],
    }
    answer = client.chat.completions.create(
        model=MODEL,
        messages=[{"role": "user", "content": "The capital of France as JSON."}],
        response_format={"type": "json_schema", "json_schema": {"name": "c", "schema": schema}},
    )
    assert json.loads(answer.choices[0].message.content) == {"city": "Paris", "country": "France"}
    found = client.embeddings.create(model=MODEL, input=["a dog barks", "a dog barks", "tax law"])
    first, same, other = (one.embedding for one in found.data)
    assert dot(first, same) > dot(first, other)


def test_a_tool_is_called_with_what_the_user_says(client):
    """Its template knows no tools, so that it is told of them in words."""
    minutes = {"minutes": {"type": "integer"}}
    schema = {"type": "object", "properties": minutes, "required": ["minutes"]}
    timer = {"name": "set_timer", "description": "Start a timer.", "parameters": schema}
    answer = client.chat.completions.create(
        model=MODEL,
        messages=[{"role": "user", "content": "Set a timer for 20 minutes."}],
        tools=[{"type": "function", "function": timer}],
        tool_choice={"type": "function", "function": {"name": "set_timer"}},
    )
    (call,) = answer.choices[0].message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == (
        "set_timer",
        {"minutes": 20},
    )


def dot(left, right) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))
