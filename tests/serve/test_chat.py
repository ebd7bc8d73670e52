"""Chat completions, asked for by OpenAI's own client."""

from __future__ import annotations

import json
import re

import httpx2
import openai
import pytest
from served import served, wait_until

from vedette.errors import ConstraintFailed
from vedette.serve.app import create_app
from vedette.serve.options import ServeOptions
from vedette.serve.shapes import reason_of
from vedette.types import Completion, Usage

NAMED = ServeOptions(model="tiny")
HELLO = [{"role": "user", "content": "hello 世界"}]
SCHEMA = {
    "type": "object",
    "properties": {"level": {"enum": ["INFO", "WARN"]}, "ok": {"type": "boolean"}},
    "required": ["level", "ok"],
}
AS_SCHEMA = {"type": "json_schema", "json_schema": {"name": "event", "schema": SCHEMA}}


def ask(client, messages=HELLO, **fields):
    return client.chat.completions.create(model="tiny", messages=messages, **fields)


def refusal(http, **fields) -> dict:
    body = {"model": "tiny", "messages": HELLO, **fields}
    reply = http.post("/v1/chat/completions", json=body)
    assert reply.status_code == 400, reply.text
    return reply.json()["error"]


def test_an_answer_with_its_usage(client):
    answer = ask(client, max_tokens=5)
    (choice,) = answer.choices
    assert (choice.index, choice.finish_reason) == (0, "length")
    assert (choice.message.role, answer.model) == ("assistant", "tiny")
    assert choice.message.content
    usage = answer.usage
    assert usage.completion_tokens == 5
    assert usage.total_tokens == usage.prompt_tokens + 5


def test_the_default_length_is_the_servers(client):
    assert ask(client).usage.completion_tokens == 12
    assert ask(client, max_completion_tokens=3).usage.completion_tokens == 3


def test_greedy_answers_are_the_same_and_seeds_repeat(client):
    def text(**how):
        return ask(client, max_tokens=8, **how).choices[0].message.content

    assert text() == text()
    hot = {"temperature": 2.0, "top_p": 1.0}
    assert text(seed=7, **hot) == text(seed=7, **hot)
    assert len({text(**hot) for _ in range(4)}) > 1


def test_several_answers_count_their_prompt_once(client):
    one = ask(client, max_tokens=4, temperature=1.0, seed=1)
    three = ask(client, max_tokens=4, temperature=1.0, seed=1, n=3)
    assert [choice.index for choice in three.choices] == [0, 1, 2]
    assert three.choices[0].message.content == one.choices[0].message.content
    assert three.usage.prompt_tokens == one.usage.prompt_tokens
    assert three.usage.completion_tokens == 12


def test_an_answer_can_be_sent_back_and_parts_are_joined(client):
    first = ask(client, max_tokens=3).choices[0].message
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    after = [{"role": "developer", "content": "x"}, *HELLO, first]
    whole = ask(client, [*after, {"role": "user", "content": "a\nb"}], max_tokens=3)
    assert (
        ask(client, [*after, {"role": "user", "content": parts}], max_tokens=3).usage.to_dict()[
            "prompt_tokens"
        ]
        == whole.usage.prompt_tokens
    )


@pytest.mark.parametrize(
    "how",
    [
        {"response_format": AS_SCHEMA},
        {"extra_body": {"json_schema": SCHEMA}},
        {"response_format": AS_SCHEMA, "temperature": 2.0},
    ],
)
def test_a_schema_is_enforced(client, how):
    answer = ask(client, max_tokens=60, **how).choices[0].message.content
    value = json.loads(answer)
    assert value.keys() == {"level", "ok"}
    assert value["level"] in ("INFO", "WARN")


def test_json_object_is_an_object(client):
    how = {"response_format": {"type": "json_object"}, "max_tokens": 40}
    assert isinstance(json.loads(ask(client, **how).choices[0].message.content), dict)


@pytest.mark.parametrize(
    ("cut", "reason"), [("budget", "length"), ("loop", "stop"), (None, "stop")]
)
def test_an_answer_that_was_brought_to_its_end_by_its_budget_says_so(cut, reason):
    completion = Completion(text="{}", finish_reason="stop", usage=Usage(), cut=cut)
    assert reason_of(completion) == reason


def test_a_grammar_is_enforced(client):
    answer = ask(client, extra_body={"grammar": 'root ::= "<" [0-9]{2} ">"'}, max_tokens=9)
    text = answer.choices[0].message.content
    assert (text[0], text[-1], text[1:-1].isdigit()) == ("<", ">", True)


def test_stop_strings(client):
    whole = ask(client, max_tokens=12).choices[0].message.content
    stop = whole[4:6]
    cut = ask(client, max_tokens=12, stop=[stop, "never there"]).choices[0]
    assert (cut.message.content, cut.finish_reason) == (whole[: whole.index(stop)], "stop")


def test_logprobs_are_those_of_the_answers_tokens(client):
    choice = ask(client, max_tokens=4, logprobs=True).choices[0]
    assert len(choice.logprobs.content) == 4
    assert all(one.logprob <= 0 and one.top_logprobs == [] for one in choice.logprobs.content)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"functions": [{"name": "f"}]}, "functions"),
        ({"function_call": {"name": "f"}}, "function_call"),
        ({"presence_penalty": 2.5}, "presence_penalty"),
        ({"frequency_penalty": -3}, "frequency_penalty"),
        ({"logit_bias": {"five": 1}}, "logit_bias"),
        ({"logit_bias": {"5": 101}}, "logit_bias"),
        ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"n": 2}, "n"),
        ({"stream_options": {"include_usage": True}}, "stream_options"),
        ({"response_format": {"type": "xml"}}, "response_format.type"),
        ({"frobnicate": 1}, "frobnicate"),
        ({"temperature": -1}, "temperature"),
        ({"temperature": "hot"}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user", "content": None}]}, "messages.0.content"),
        ({"messages": [{"role": "user", "content": []}]}, "messages.0.content"),
        ({"stop": ""}, "stop"),
        ({"stop": ["a", ""]}, "stop.1"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages.0.role"),
        ({"messages": [{"role": "user", "content": "x", "colour": 1}]}, "messages.0.colour"),
    ],
)
def test_what_cannot_be_heeded_is_refused_and_named(http, fields, param):
    error = refusal(http, **fields)
    assert (error["param"], error["type"]) == (param, "invalid_request_error")
    assert param.rsplit(".", 1)[-1] in error["message"]


def test_sounds_are_refused(http):
    part = {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}
    error = refusal(http, messages=[{"role": "user", "content": [part]}])
    assert "texts and pictures only" in error["message"]


def test_values_that_change_nothing_are_taken(client):
    same = ask(client, max_tokens=3).choices[0].message.content
    neutral = {"presence_penalty": 0, "logit_bias": {}, "tools": [], "user": "u", "store": False}
    assert ask(client, max_tokens=3, **neutral).choices[0].message.content == same


def test_errors_of_the_backend_have_their_status(client, http):
    with pytest.raises(openai.BadRequestError) as refused:
        ask(client, [{"role": "user", "content": "long " * 5000}])
    assert refused.value.code == "context_length_exceeded"
    with pytest.raises(openai.BadRequestError) as refused:
        ask(client, extra_body={"grammar": "root ::= ("})
    assert refused.value.code
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(model="gpt-5", messages=HELLO)
    deep = b"[" * 100_000
    for content in (b"{", b"[]", b"", b"\xff", deep):
        headers = {"content-type": "application/json"}
        reply = http.post("/v1/chat/completions", content=content, headers=headers)
        assert reply.status_code == 400, reply.text
        assert reply.json()["error"]["type"] == "invalid_request_error"


def test_a_form_of_a_web_page_is_not_taken_for_json(http):
    """Such a request can be sent from any page, without asking this server first."""
    body = json.dumps({"model": "tiny", "messages": HELLO})
    reply = http.post("/v1/chat/completions", content=body, headers={"content-type": "text/plain"})
    assert reply.status_code == 400
    assert "Content-Type: application/json" in reply.json()["error"]["message"]


def test_a_stream_is_the_answer_in_pieces(client):
    whole = ask(client, max_tokens=12).choices[0].message.content
    chunks = list(ask(client, max_tokens=12, stream=True))
    assert chunks[0].choices[0].delta.role == "assistant"
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == whole
    assert [chunk.choices[0].finish_reason for chunk in chunks[-2:]] == [None, "length"]
    assert len({chunk.id for chunk in chunks}) == 1
    assert all(chunk.usage is None for chunk in chunks)


def test_a_stream_of_several_answers_with_usage(client):
    how = {"max_tokens": 6, "temperature": 1.0, "seed": 3, "n": 2}
    whole = ask(client, **how)
    texts, reasons = ["", ""], {}
    *chunks, last = ask(client, stream=True, stream_options={"include_usage": True}, **how)
    for chunk in chunks:
        (choice,) = chunk.choices
        texts[choice.index] += choice.delta.content or ""
        reasons[choice.index] = choice.finish_reason
    assert texts == [choice.message.content for choice in whole.choices]
    assert reasons == {0: "length", 1: "length"}
    assert (last.choices, last.usage.total_tokens) == ([], whole.usage.total_tokens)


GOLDEN = """\
data: {"id":"ID","object":"chat.completion.chunk","created":0,"model":"tiny","choices":[{"index":0,\
"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"ID","object":"chat.completion.chunk","created":0,"model":"tiny","choices":[{"index":0,\
"delta":{"content":"yes"},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"ID","object":"chat.completion.chunk","created":0,"model":"tiny","choices":[{"index":0,\
"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null}

data: {"id":"ID","object":"chat.completion.chunk","created":0,"model":"tiny","choices":[],\
"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0,\
"prompt_tokens_details":{"cached_tokens":0}}}

data: [DONE]

"""


def test_the_wire_of_a_stream_byte_by_byte(http):
    body = {
        "model": "tiny",
        "messages": HELLO,
        "stream": True,
        "stream_options": {"include_usage": True},
        "grammar": 'root ::= "yes"',
    }
    reply = http.post("/v1/chat/completions", json=body)
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert normalised(reply.text) == GOLDEN


def normalised(text: str) -> str:
    """What differs from run to run made the same."""
    text = re.sub(r'"id":"chatcmpl-[0-9a-f]{32}"', '"id":"ID"', text)
    text = re.sub(r'"created":\d+', '"created":0', text)
    return re.sub(r'_tokens":\d+', '_tokens":0', text)


def test_an_error_before_the_first_text_is_an_http_error(client):
    with pytest.raises(openai.BadRequestError):
        ask(client, [{"role": "user", "content": "long " * 5000}], stream=True)


class Failing:
    """A backend whose answers break after their first text."""

    def __init__(self, backend, error) -> None:
        self._backend = backend
        self._error = error

    def __getattr__(self, name):
        return getattr(self._backend, name)

    def submit(self, request):
        error = self._error
        handle = self._backend.submit(request)

        class Broken:
            cancel, on_done, result = handle.cancel, handle.on_done, handle.result

            def __iter__(self):
                yield next(iter(handle))
                raise error

        return Broken()


def test_an_error_within_a_stream_is_its_last_event(tiny_backend):
    with served(create_app(Failing(tiny_backend, ConstraintFailed("it broke")), NAMED)) as url:
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
        stream = ask(client, stream=True)
        assert next(stream).choices[0].delta.role == "assistant"
        with pytest.raises(openai.APIError, match="it broke") as failed:
            list(stream)
        assert failed.value.body["code"] == "constraint_failed"


class Counting:
    """A backend that remembers its handles."""

    def __init__(self, backend) -> None:
        self._backend = backend
        self.handles = []

    def __getattr__(self, name):
        return getattr(self._backend, name)

    def submit(self, request):
        self.handles.append(self._backend.submit(request))
        return self.handles[-1]


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_frees_its_place(tiny_backend, stream):
    backend = Counting(tiny_backend)
    options = ServeOptions(model="tiny", max_requests=1)
    with served(create_app(backend, options)) as url, httpx2.Client(base_url=url) as http:
        body = {"model": "tiny", "messages": HELLO, "max_tokens": 3500, "stream": stream}
        if stream:
            with http.stream("POST", "/v1/chat/completions", json=body, timeout=30) as reply:
                pieces = reply.iter_raw()  # kept: dropped, it would close the connection
                next(pieces)
                busy = httpx2.post(f"{url}/v1/chat/completions", json=body)
        else:
            with pytest.raises(httpx2.ReadTimeout):
                http.post("/v1/chat/completions", json=body, timeout=0.3)
            busy = None
        if busy is not None:
            assert (busy.status_code, busy.headers["retry-after"]) == (429, "1")
            assert busy.json()["error"]["code"] == "overloaded"
        (handle,) = backend.handles
        wait_until(lambda: handle.cancelled)
        wait_until(
            lambda: (
                httpx2.post(
                    f"{url}/v1/chat/completions", json={**body, "max_tokens": 1, "stream": False}
                ).status_code
                == 200
            )
        )


def test_more_answers_than_there_are_places(tiny_backend, http):
    """Where all come at once they are refused; else they come in turns."""
    options = ServeOptions(model="tiny", max_requests=2)
    with served(create_app(tiny_backend, options)) as url, httpx2.Client(base_url=url) as few:
        body = {"model": "tiny", "messages": HELLO, "max_tokens": 2, "temperature": 1.0, "n": 3}
        reply = few.post("/v1/chat/completions", json={**body, "stream": True})
        assert (reply.status_code, reply.json()["error"]["code"]) == (400, "invalid_input")
        assert len(few.post("/v1/chat/completions", json=body).json()["choices"]) == 3
        many = {"model": "tiny", "input": [f"text {i}" for i in range(5)]}
        assert len(few.post("/v1/embeddings", json=many).json()["data"]) == 5


def test_text_that_is_no_unicode_ends_in_no_fault(http):
    half = json.loads('"\\ud800"')
    broken = [
        ("/v1/chat/completions", {"model": half, "messages": HELLO}),
        ("/v1/chat/completions", {"model": "tiny", "messages": HELLO, half: 1}),
        (
            "/v1/chat/completions",
            {"model": "tiny", "messages": HELLO, "json_schema": {"const": half}},
        ),
        ("/apply-template", {"messages": [{"role": "user", "content": half}]}),
    ]
    headers = {"content-type": "application/json"}
    codes = [
        http.post(path, content=json.dumps(body), headers=headers).status_code
        for path, body in broken
    ]
    assert codes == [404, 400, 400, 200]


def test_a_fault_within_a_stream_is_told_without_its_reason(tiny_backend, caplog):
    with served(create_app(Failing(tiny_backend, ValueError("secret")), NAMED)) as url:
        body = {"model": "tiny", "messages": HELLO, "stream": True}
        reply = httpx2.post(f"{url}/v1/chat/completions", json=body, timeout=30)
    assert '"code":"internal_error"' in reply.text
    assert "secret" not in reply.text
    assert "builtins.ValueError, raised by" in caplog.text


def test_an_answer_that_takes_too_long_is_504_and_not_tried_again(tiny_backend):
    options = ServeOptions(model="tiny", deadline_s=0.05)
    with served(create_app(tiny_backend, options)) as url:
        body = {"model": "tiny", "messages": HELLO, "max_tokens": 3500}
        reply = httpx2.post(f"{url}/v1/chat/completions", json=body, timeout=30)
    assert (reply.status_code, reply.headers["x-should-retry"]) == (504, "false")
    assert reply.json()["error"]["code"] == "deadline_exceeded"
