"""Responses, asked for and read by OpenAI's own client."""

from __future__ import annotations

import json
import re

import openai
import pytest
from openai import OpenAI
from served import served
from test_chat import NAMED, Failing

from vedette.errors import ConstraintFailed
from vedette.serve.app import create_app

HELLO = "hello 世界"
SCHEMA = {
    "type": "object",
    "properties": {"level": {"enum": ["INFO", "WARN"]}},
    "required": ["level"],
    "additionalProperties": False,
}
STOP = {
    "type": "function",
    "name": "stop",
    "description": "stops",
    "strict": True,
    "parameters": {
        "type": "object",
        "properties": {"code": {"const": 7}},
        "required": ["code"],
        "additionalProperties": False,
    },
}
CALLED = {"type": "function", "name": "stop"}
LOGPROBS = ["message.output_text.logprobs"]


def ask(client, given=HELLO, **fields):
    return client.responses.create(model="tiny", input=given, **fields)


def chat(client, messages, **fields):
    answer = client.chat.completions.create(model="tiny", messages=messages, **fields)
    return answer.choices[0].message.content, answer.usage


def test_a_text_is_answered_as_in_a_chat(client):
    response = ask(client, instructions="Be brief.", max_output_tokens=5)
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": HELLO}]
    content, usage = chat(client, messages, max_tokens=5)
    assert response.output_text == content
    assert (response.status, response.incomplete_details.reason) == (
        "incomplete",
        "max_output_tokens",
    )
    assert (response.object, response.model, response.error) == ("response", "tiny", None)
    assert response.usage.input_tokens == usage.prompt_tokens
    assert (response.usage.output_tokens, response.usage.total_tokens) == (
        5,
        usage.prompt_tokens + 5,
    )
    (item,) = response.output
    assert (item.type, item.role, item.status) == ("message", "assistant", "incomplete")
    assert response.instructions == "Be brief."
    assert response.store is False


def test_items_are_the_turns_of_a_chat(client):
    parts = [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]
    said = ask(client, max_output_tokens=3).output[0]
    items = [
        {"role": "developer", "content": "x"},
        {"role": "user", "content": HELLO},
        said,
        {"type": "message", "role": "user", "content": parts},
    ]
    response = ask(client, items, max_output_tokens=3)
    messages = [
        {"role": "system", "content": "x"},
        {"role": "user", "content": HELLO},
        {"role": "assistant", "content": said.content[0].text},
        {"role": "user", "content": "a\nb"},
    ]
    content, usage = chat(client, messages, max_tokens=3)
    assert (response.output_text, response.usage.input_tokens) == (content, usage.prompt_tokens)


def test_text_under_a_schema(client):
    form = {"type": "json_schema", "name": "event", "schema": SCHEMA, "strict": True}
    response = ask(client, text={"format": form}, max_output_tokens=60)
    assert response.status == "completed"
    assert json.loads(response.output_text)["level"] in ("INFO", "WARN")
    assert response.text.format.type == "json_schema"
    whatever = ask(client, text={"format": {"type": "json_object"}}, max_output_tokens=40)
    assert isinstance(json.loads(whatever.output_text), dict)


def test_a_function_is_called_and_its_result_goes_back(client):
    response = ask(client, tools=[STOP], tool_choice=CALLED, max_output_tokens=60)
    (call,) = response.output
    assert (call.type, call.name, call.status) == ("function_call", "stop", "completed")
    assert json.loads(call.arguments) == {"code": 7}
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "stopped"}
    items = [{"role": "user", "content": HELLO}, *response.output, result]
    after = ask(client, items, tools=[STOP], tool_choice="none", max_output_tokens=4)
    assert after.output_text
    unknown = {**result, "call_id": "call_x"}
    with pytest.raises(openai.BadRequestError) as refused:
        ask(client, [items[0], unknown])
    assert refused.value.param == "input.1.call_id"


def test_log_probabilities(client):
    response = ask(client, include=LOGPROBS, top_logprobs=2, max_output_tokens=4)
    logprobs = response.output[0].content[0].logprobs
    assert [len(one.top_logprobs) for one in logprobs] == [2] * 4
    events = list(ask(client, include=LOGPROBS, top_logprobs=2, max_output_tokens=4, stream=True))
    (done,) = (event for event in events if event.type == "response.output_text.done")
    assert [one.token for one in done.logprobs] == [one.token for one in logprobs]


def test_a_stream_adds_up_to_the_response(client):
    whole = ask(client, max_output_tokens=60, text={"format": {"type": "json_object"}})
    how = {"max_output_tokens": 60, "text": {"format": {"type": "json_object"}}}
    with client.responses.stream(model="tiny", input=HELLO, **how) as stream:
        events = list(stream)
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(deltas) == whole.output_text
    last = events[-1]
    assert last.type == f"response.{whole.status}"
    assert last.response.output[0].content[0].text == whole.output_text
    assert last.response.usage.output_tokens == whole.usage.output_tokens
    assert [event.sequence_number for event in events] == [*range(len(events))]


def test_a_streamed_call_adds_up_to_the_call(client):
    how = {"tools": [STOP], "tool_choice": CALLED, "max_output_tokens": 60}
    with client.responses.stream(model="tiny", input=HELLO, **how) as stream:
        final = stream.get_final_response()
    (call,) = final.output
    assert (call.name, call.parsed_arguments) == ("stop", {"code": 7})
    assert final.status == "completed"


def test_the_client_parses_what_it_asked_for(client):
    pydantic = pytest.importorskip("pydantic")

    class Level(pydantic.BaseModel):
        level: str = pydantic.Field(max_length=3)

    response = client.responses.parse(
        model="tiny", input=HELLO, text_format=Level, max_output_tokens=60
    )
    assert isinstance(response.output_parsed, Level)


def normalised(text: str) -> str:
    """What differs from run to run made the same; repeats of the request left out."""
    text = re.sub(r'"((?:resp|msg|fc|call)_)[0-9a-f]+"', r'"\1"', text)
    text = re.sub(r'"created_at":\d+', '"created_at":0', text)
    text = re.sub(r'_tokens":\d+', '_tokens":0', text)
    return re.sub(r'"response":{.*?"status":"(\w+)".*}', r'"response":"\1"}', text)


TEXT_EVENTS = """\
event: response.created
data: {"type":"response.created","sequence_number":0,"response":"in_progress"}

event: response.in_progress
data: {"type":"response.in_progress","sequence_number":1,"response":"in_progress"}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":2,"output_index":0,\
"item":{"type":"message","id":"msg_","role":"assistant","content":[],"status":"in_progress"}}

event: response.content_part.added
data: {"type":"response.content_part.added","sequence_number":3,"item_id":"msg_",\
"output_index":0,"content_index":0,\
"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_",\
"output_index":0,"content_index":0,"delta":"null","logprobs":[]}

event: response.output_text.done
data: {"type":"response.output_text.done","sequence_number":5,"item_id":"msg_",\
"output_index":0,"content_index":0,"text":"null","logprobs":[]}

event: response.content_part.done
data: {"type":"response.content_part.done","sequence_number":6,"item_id":"msg_",\
"output_index":0,"content_index":0,\
"part":{"type":"output_text","text":"null","annotations":[],"logprobs":[]}}

event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":7,"output_index":0,\
"item":{"type":"message","id":"msg_","role":"assistant",\
"content":[{"type":"output_text","text":"null","annotations":[],"logprobs":[]}],\
"status":"completed"}}

event: response.completed
data: {"type":"response.completed","sequence_number":8,"response":"completed"}

"""


def test_the_events_of_a_text_byte_by_byte(http):
    """`null` is one token of the tiny model, so that there is one delta."""
    form = {"type": "json_schema", "name": "nothing", "schema": {"type": "null"}}
    body = {"model": "tiny", "input": HELLO, "stream": True, "text": {"format": form}}
    reply = http.post("/v1/responses", json=body)
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert normalised(reply.text) == TEXT_EVENTS


CALL_EVENTS = [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "response.output_item.done",
    "response.completed",
]


def test_the_events_of_a_call_come_in_their_order(client):
    events = list(ask(client, tools=[STOP], tool_choice=CALLED, max_output_tokens=60, stream=True))
    assert list(dict.fromkeys(event.type for event in events)) == CALL_EVENTS
    added, done = (event for event in events if "output_item" in event.type)
    assert (added.item.arguments, added.item.status) == ("", "in_progress")
    assert (done.item.id, done.item.call_id) == (added.item.id, added.item.call_id)
    deltas = [event.delta for event in events if event.type.endswith("arguments.delta")]
    assert "".join(deltas) == done.item.arguments == '{"code": 7}'


def test_a_stream_that_breaks_off_says_so(tiny_backend):
    broken = Failing(tiny_backend, ConstraintFailed("it broke"))
    with (
        served(create_app(broken, NAMED)) as url,
        OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
    ):
        events = list(ask(client, stream=True, max_output_tokens=30))
    assert events[-1].type == "response.failed"
    failed = events[-1].response
    assert (failed.status, failed.error.code) == ("failed", "constraint_failed")
    assert "it broke" in failed.error.message


def test_what_comes_before_the_first_text_is_an_http_error(client):
    with pytest.raises(openai.BadRequestError) as refused:
        ask(client, "long " * 5000, stream=True)
    assert refused.value.code == "context_length_exceeded"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"store": True}, "store"),
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"background": True}, "background"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"truncation": "auto"}, "truncation"),
        ({"reasoning": {"effort": "low"}}, "reasoning"),
        ({"include": ["file_search_call.results"]}, "include"),
        ({"top_logprobs": 3}, "top_logprobs"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"temperature": 3}, "temperature"),
        ({"text": {"format": {"type": "json_schema", "name": "x"}}}, "text.format"),
        ({"text": {"format": {"type": "grammar"}}}, "text.format.type"),
        ({"tools": [{"type": "web_search"}]}, "tools"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tools": [STOP], "tool_choice": {"type": "function", "name": "go"}}, "tool_choice"),
        ({"seed": 1}, "seed"),
        ({"input": []}, "input"),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "input.0.type"),
        ({"input": [{"role": "robot", "content": "x"}]}, "input.0.role"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]},
            "input.0.content.0.image_url",
        ),
        (
            {"input": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "["}]},
            "input.0.arguments",
        ),
        ({"stream_options": {"include_obfuscation": False}}, "stream_options"),
    ],
)
def test_what_cannot_be_heeded_is_refused_and_named(http, fields, param):
    reply = http.post("/v1/responses", json={"model": "tiny", "input": HELLO, **fields})
    assert reply.status_code == 400, reply.text
    error = reply.json()["error"]
    assert (error["param"], error["type"]) == (param, "invalid_request_error")
    assert error["message"]


def test_another_model_is_not_found(http):
    reply = http.post("/v1/responses", json={"model": "gpt-5", "input": HELLO})
    assert (reply.status_code, reply.json()["error"]["code"]) == (404, "model_not_found")


def test_what_changes_nothing_is_taken(client):
    same = ask(client, max_output_tokens=3).output_text
    neutral = {
        "store": False,
        "metadata": {"a": "b"},
        "truncation": "disabled",
        "service_tier": "auto",
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "k",
    }
    response = ask(client, max_output_tokens=3, **neutral)
    assert (response.output_text, response.metadata) == (same, {"a": "b"})
