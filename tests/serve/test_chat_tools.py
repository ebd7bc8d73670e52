"""Tools in chats, called through OpenAI's own client: by the model's template, and in words."""

from __future__ import annotations

import json
import re

import httpx2
import openai
import pytest
from openai import OpenAI
from served import served

from tiny_gguf import build_tiny
from tool_template import OWN_TOKENS, TOOL_TEMPLATE
from vedette.backends.local import LocalBackend
from vedette.backends.openai_http import OpenAIBackend
from vedette.engine.options import EngineOptions
from vedette.engine.ticket import Ticket
from vedette.errors import ConstraintFailed
from vedette.serve.app import create_app
from vedette.serve.options import ServeOptions
from vedette.serve.told import Told
from vedette.serve.tool_use import OPENING_TOKENS
from vedette.tasks.call_grammar import CallGrammar
from vedette.tasks.chat_tools import WRITTEN, WRITTEN_FORM
from vedette.tasks.tool_defs import tools_of
from vedette.types import Completion, Request, ScoreRequest, Scores, Usage

HELLO = [{"role": "user", "content": "hello 世界"}]


def function(name, **properties):
    parameters = {"type": "object", "properties": properties, "required": [*properties]}
    described = {"name": name, "description": f"does {name}", "parameters": parameters}
    return {"type": "function", "function": described}


SET = function("set_level", level={"enum": ["INFO", "WARN"]}, on={"type": "boolean"})
STOP = function("stop", code={"const": 7})
TOOLS = [SET, STOP]
NAMED = {"type": "function", "function": {"name": "stop"}}


class Deciding(LocalBackend):
    """Whose scores are what a test says: the choices listed in `wanted` are likely."""

    wanted = ""
    begins = False

    def submit(self, request):
        is_looked_at = isinstance(request, Request) and request.max_tokens == OPENING_TOKENS
        if is_looked_at and self.begins:
            texts = self.engine.call_form.texts if self.engine.call_form else WRITTEN
            ticket = Ticket()
            text = texts.opening + "se"
            ticket.settle(Completion(text=text, finish_reason="length", usage=Usage()))
            return ticket
        if not isinstance(request, ScoreRequest):
            return super().submit(request)
        self.asked = request
        says = request.prompt.messages[-1].content
        free = says in ("[MASK]", "-")
        likely = [0.0 if free or choice == self.wanted else -5.0 for choice in request.choices]
        ticket = Ticket()
        ticket.settle(Scores(choices=request.choices, logprobs=tuple(likely), usage=Usage()))
        return ticket


@pytest.fixture(scope="module", params=["own", "in words"])
def deciding(request, tiny_full, tmp_path_factory):
    path = tiny_full
    if request.param == "own":
        path = tmp_path_factory.mktemp("tooled") / "tiny-tools.gguf"
        build_tiny("full", path, template=TOOL_TEMPLATE, own_tokens=OWN_TOKENS)
    backend = Deciding(path, EngineOptions(threads=1, width=4))
    yield backend
    backend.close()


@pytest.fixture(scope="module")
def door(deciding):
    with served(create_app(deciding, ServeOptions(model="tiny", max_tokens=200))) as url:
        yield url


@pytest.fixture
def client(door):
    with OpenAI(base_url=f"{door}/v1", api_key="none", max_retries=0) as opened:
        yield opened


def ask(client, messages=HELLO, **fields):
    fields = {"tools": TOOLS, **fields}
    return client.chat.completions.create(model="tiny", messages=messages, **fields)


def check_calls(calls):
    assert calls
    assert len({call.id for call in calls}) == len(calls)
    for call in calls:
        arguments = json.loads(call.function.arguments)
        if call.function.name == "stop":
            assert arguments == {"code": 7}
        else:
            assert call.function.name == "set_level"
            assert arguments.keys() == {"level", "on"}
            assert arguments["level"] in ("INFO", "WARN")


def test_a_named_function_is_called_once(client):
    (choice,) = ask(client, tool_choice=NAMED).choices
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", None)
    (call,) = choice.message.tool_calls
    assert (call.type, call.function.name, call.function.arguments) == (
        "function",
        "stop",
        '{"code": 7}',
    )
    assert call.id.startswith("call_")


@pytest.mark.parametrize("how", [{}, {"temperature": 2.0, "seed": 5, "n": 3}])
def test_required_calls_fit_their_tools_and_begin_with_the_likeliest(client, deciding, how):
    deciding.wanted = "stop"
    how = {"parallel_tool_calls": True, **how}
    for choice in ask(client, tool_choice="required", **how).choices:
        check_calls(choice.message.tool_calls)
        assert choice.message.tool_calls[0].function.name == "stop"
        assert len(choice.message.tool_calls) <= 8
    assert deciding.asked.choices == ("set_level", "stop")


def test_one_call_at_a_time_unless_more_are_asked_for(client):
    answer = ask(client, tool_choice="required")
    check_calls(answer.choices[0].message.tool_calls)
    assert len(answer.choices[0].message.tool_calls) == 1


def test_the_scores_decide_between_a_call_and_a_text(client, deciding):
    deciding.wanted = "set_level"
    called = ask(client).choices[0]
    assert (called.finish_reason, called.message.content) == ("tool_calls", None)
    assert called.message.tool_calls[0].function.name == "set_level"
    deciding.wanted = "none"
    said = ask(client, max_tokens=9).choices[0]
    assert (said.finish_reason, said.message.tool_calls) == ("length", None)
    plain = client.chat.completions.create(model="tiny", messages=HELLO, max_tokens=9)
    assert said.message.content == plain.choices[0].message.content
    assert deciding.asked.choices == ("set_level", "stop", "none")


def test_only_the_last_turns_are_read_for_the_decision(client, deciding):
    deciding.wanted = "none"
    turns = [{"role": "system", "content": "Be brief."}]
    for i in range(3):
        turns += [{"role": "user", "content": f"q{i}"}, {"role": "assistant", "content": f"a{i}"}]
    ask(client, [*turns, {"role": "user", "content": "q3"}], max_tokens=2)
    read = [message.content for message in deciding.asked.prompt.messages[1:]]
    assert read == ["q2", "a2", "q3"]


def test_after_a_result_the_model_goes_on_as_it_begins(client, deciding):
    first = ask(client, tool_choice=NAMED).choices[0].message
    result = {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "stopped"}
    talk = [*HELLO, first, result]
    said = ask(client, talk, max_tokens=30)
    assert said.choices[0].message.content
    assert said.choices[0].message.tool_calls is None
    plain = ask(client, talk, max_tokens=30, tool_choice="none")
    assert plain.choices[0].message.content == said.choices[0].message.content
    deciding.begins = True
    called = ask(client, talk, max_tokens=60)
    deciding.begins = False
    check_calls(called.choices[0].message.tool_calls)
    # It is the tools that make the difference.
    assert called.usage.prompt_tokens > said.usage.prompt_tokens


@pytest.mark.parametrize(
    "how",
    [
        {"tool_choice": NAMED},
        {"tool_choice": "required", "parallel_tool_calls": True, "temperature": 2.0, "seed": 3},
    ],
)
def test_a_stream_is_the_same_calls_in_pieces(client, how):
    whole = ask(client, **how).choices[0]
    events = []
    with client.chat.completions.stream(model="tiny", messages=HELLO, tools=TOOLS, **how) as stream:
        for event in stream:
            events.append(event.type)
        final = stream.current_completion_snapshot.choices[0]
    assert final.finish_reason == whole.finish_reason
    assert [(call.function.name, call.function.arguments) for call in final.message.tool_calls] == [
        (call.function.name, call.function.arguments) for call in whole.message.tool_calls
    ]
    assert "tool_calls.function.arguments.delta" in events
    assert events.count("tool_calls.function.arguments.done") == len(final.message.tool_calls)


GOLDEN = """\
data: {"id":"ID","object":"chat.completion.chunk","created":0,"model":"tiny","choices":[{"index":0,\
"delta":{"role":"assistant","content":null},"logprobs":null,"finish_reason":null}]}

data: {"id":"ID","object":"chat.completion.chunk","created":0,"model":"tiny","choices":[{"index":0,\
"delta":{"tool_calls":[{"index":0,"id":"CALL","type":"function","function":{"name":"stop",\
"arguments":""}}]},"logprobs":null,"finish_reason":null}]}

data: {"id":"ID","object":"chat.completion.chunk","created":0,"model":"tiny","choices":[{"index":0,\
"delta":{"tool_calls":[{"index":0,"function":{"arguments":"ARGS"}}]},"logprobs":null,\
"finish_reason":null}]}

data: {"id":"ID","object":"chat.completion.chunk","created":0,"model":"tiny","choices":[{"index":0,\
"delta":{},"logprobs":null,"finish_reason":"tool_calls"}]}

data: [DONE]

"""


def test_the_wire_of_a_called_function(door):
    body = {"model": "tiny", "messages": HELLO, "tools": [STOP], "tool_choice": NAMED}
    reply = httpx2.post(f"{door}/v1/chat/completions", json={**body, "stream": True}, timeout=30)
    text = re.sub(r'"id":"chatcmpl-[0-9a-f]{32}"', '"id":"ID"', reply.text)
    text = re.sub(r'"id":"call_[0-9a-f]{24}"', '"id":"CALL"', text)
    text = re.sub(r'"created":\d+', '"created":0', text)
    pieces = re.findall(r'"function":{"arguments":("(?:\\.|[^"\\])*")}', text)
    assert "".join(map(json.loads, pieces)) == '{"code": 7}'
    # How the arguments are cut into pieces is the tokenizer's; that there are several is not.
    assert len(pieces) > 1
    text = re.sub(r'("function":{"arguments":)"(?:\\.|[^"\\])*"}', r'\1"ARGS"}', text)
    lines = list(dict.fromkeys(text.split("\n\n")))
    assert "\n\n".join(lines) == GOLDEN.rstrip("\n") + "\n\n"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"tool_choice": "sometimes"}, "tool_choice"),
        ({"tool_choice": {"type": "function", "function": {"name": "go"}}}, "tool_choice"),
        ({"tools": [], "tool_choice": "required"}, "tool_choice"),
        ({"tools": [{"type": "web_search"}]}, "tools"),
        ({"tools": [STOP, STOP]}, "tools"),
        ({"tools": [function("f", a={"type": "string", "pattern": "("})]}, "tools"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages.0.tool_call_id"),
        (
            {"messages": [{"role": "tool", "content": "x", "tool_call_id": "c"}]},
            "messages.0.tool_call_id",
        ),
        (
            {"messages": [{"role": "user", "content": "x", "tool_call_id": "c"}]},
            "messages.0.tool_call_id",
        ),
        (
            {
                "messages": [
                    {
                        "role": "assistant",
                        "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "["}}],
                    }
                ]
            },
            "messages.0.tool_calls",
        ),
    ],
)
def test_what_cannot_be_called_is_refused(door, fields, param):
    body = {"model": "tiny", "messages": HELLO, "tools": TOOLS, **fields}
    reply = httpx2.post(f"{door}/v1/chat/completions", json=body, timeout=30)
    assert reply.status_code == 400, reply.text
    assert reply.json()["error"]["param"] == param


def test_the_prompt_of_an_answer_in_words_has_results_and_no_calls(door):
    call = {"id": "c", "type": "function", "function": {"name": "stop", "arguments": '{"code": 7}'}}
    messages = [
        *HELLO,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "done"},
    ]
    reply = httpx2.post(f"{door}/apply-template", json={"messages": messages}, timeout=30)
    assert reply.json()["prompt"] == (
        "<|im_start|>user\nhello 世界\n\nstop(code=7) returned: done<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_form_stop_and_logprobs_hold_for_words_and_not_for_calls(client, deciding):
    how = {"response_format": {"type": "json_object"}, "stop": "code", "logprobs": True}
    deciding.wanted = "stop"
    called = ask(client, **how).choices[0]
    assert called.message.tool_calls[0].function.arguments == '{"code": 7}'
    assert called.logprobs is None
    deciding.wanted = "none"
    how = {"response_format": {"type": "json_object"}, "logprobs": True, "max_tokens": 60}
    said = ask(client, **how).choices[0]
    assert isinstance(json.loads(said.message.content), dict)
    assert said.logprobs.content


def test_a_budget_that_no_call_fits_into_is_refused(client):
    with pytest.raises(openai.BadRequestError) as refused:
        ask(client, tool_choice=NAMED, max_tokens=2)
    assert refused.value.code == "budget_too_small"


def test_a_server_that_takes_no_lark_calls_no_tools(url):
    remote = OpenAIBackend(f"{url}/v1")
    try:
        with served(create_app(remote)) as outer:
            with (
                OpenAI(base_url=f"{outer}/v1", api_key="none", max_retries=0) as far,
                pytest.raises(openai.InternalServerError) as lacking,
            ):
                ask(far)
            assert lacking.value.status_code == 501
    finally:
        remote.close()


def test_arguments_that_are_only_checked_at_the_end_are_not_told_before():
    """The grammar cannot hold items apart."""
    distinct = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}
    calls = CallGrammar(tools_of([function("f", a=distinct)]), WRITTEN_FORM)
    assert not calls.is_final
    good, bad = Told(calls), Told(calls)
    assert good.take('{"name": "f", "arguments": {"a": [1, 2]}}') == []
    assert [type(event).__name__ for event in good.end()] == ["Called", "Argued"]
    assert bad.take('{"name": "f", "arguments": {"a": [1, 1]}}') == []
    with pytest.raises(ConstraintFailed, match="does not fit its tool f"):
        bad.end()
