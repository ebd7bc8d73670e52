"""What goes wrong with a server, and what becomes of it: a typed error, another try, no loss."""

from __future__ import annotations

import time
from email.utils import formatdate

import httpx2
import orjson
import pytest
from fake_http import Reply, chat, error, streamed

from vedette.backends import failures
from vedette.backends.failures import Trouble
from vedette.backends.http_client import TRIES, backoff
from vedette.backends.openai_http import OpenAIBackend
from vedette.errors import (
    AccessDenied,
    AnswerInterrupted,
    Cancelled,
    CapabilityMissing,
    ConstraintFailed,
    DeadlineExceeded,
    EngineFailed,
    InputError,
    InputTooLong,
    RateLimited,
    RequestRefused,
    ServerFailed,
    ServerTimeout,
    ServerUnreachable,
)
from vedette.types import Constraint, Message, Prompt, Request, Sampling

pytestmark = pytest.mark.usefixtures("no_waits")

CHAT = "/v1/chat/completions"
LABEL = Constraint("choice", '["great", "awful"]')
OBJECT = Constraint(
    "json_schema",
    '{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}',
)


@pytest.fixture
def backend(fake):
    opened = OpenAIBackend(f"{fake.url}/v1", width=4, timeout_s=20)
    yield opened
    opened.close()


def ask(backend, constraint=LABEL, **options) -> str:
    request = Request(prompt=Prompt((Message("user", "x"),)), constraint=constraint, **options)
    return backend.submit(request).result(30).text


# --- tried again -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "trouble",
    [
        error(429, "slow down", retry_after="0"),
        error(500, "oops"),
        error(503, "loading"),
        Reply(b"<html>bad gateway</html>", 502),
        Reply(b'{"choices": [{"mess'),
        Reply(b"[1]"),
        Reply(reset=True),
        Reply(b'{"half": ', reset=True),
    ],
    ids=["429", "500", "503", "502", "broken JSON", "no object", "reset", "reset within"],
)
def test_what_may_pass_is_tried_again_and_counted(fake, backend, trouble):
    fake.on(CHAT, trouble, trouble, chat("great"))
    assert ask(backend) == "great"
    assert backend.counts["resent_requests"] == 2
    assert len(fake.seen[CHAT]) == 3


@pytest.mark.parametrize(
    ("trouble", "raised"),
    [
        (error(429, "slow down"), RateLimited),
        (error(500, "oops"), ServerFailed),
        (Reply(b"{"), ServerFailed),
        (Reply(reset=True), ServerUnreachable),
    ],
)
def test_what_does_not_pass_ends_as_its_typed_error_after_so_many_tries(
    fake, backend, trouble, raised
):
    fake.on(CHAT, trouble)
    with pytest.raises(raised) as caught:
        ask(backend)
    assert type(caught.value) is raised
    assert fake.url in caught.value.message
    assert len(fake.seen[CHAT]) == TRIES


@pytest.mark.parametrize(
    ("trouble", "raised"),
    [
        (error(401, "no key"), AccessDenied),
        (error(403, "not you"), AccessDenied),
        (error(404, "no such model"), RequestRefused),
        (error(422, "temperature: too hot"), RequestRefused),
        (error(400, "too long", kind="context_length_exceeded"), InputTooLong),
        (error(400, "too long", kind="exceed_context_size_error"), InputTooLong),
        (error(429, "pay first", kind="insufficient_quota"), RateLimited),
        (error(429, "come back", retry_after="3600"), RateLimited),
        (Reply(b"", 307, {"location": "http://elsewhere/"}), ServerFailed),
        (chat("", finish="content_filter"), ServerFailed),
        (Reply({"choices": []}), ServerFailed),
        (Reply({"choices": [{"message": {"content": None, "refusal": "no"}}]}), ServerFailed),
    ],
)
def test_what_another_try_does_not_mend_is_tried_once(fake, backend, trouble, raised):
    fake.on(CHAT, trouble)
    with pytest.raises(raised):
        ask(backend)
    assert len(fake.seen[CHAT]) == 1


def test_a_denied_key_says_where_keys_come_from(fake, backend):
    fake.on(CHAT, error(401, "bad key"))
    with pytest.raises(AccessDenied, match="bad key") as caught:
        ask(backend)
    assert "VEDETTE_API_KEY" in caught.value.hint


@pytest.mark.parametrize(
    ("header", "expected"),
    [("7", 7.0), ("0.25", 0.25), ("-3", 0.0), ("soon", True), ("", True)],
)
def test_the_server_says_when_to_try_again(header, expected):
    headers = httpx2.Headers({"retry-after": header} if header else {})
    assert backoff(failures.of_response(429, headers, b"", "it")) == expected


def test_the_server_may_say_it_as_a_date():
    headers = httpx2.Headers({"retry-after": formatdate(time.time() + 30, usegmt=True)})
    assert 25 < backoff(failures.of_response(503, headers, b"", "it")) <= 31


def test_one_that_asks_to_wait_too_long_is_given_up_and_that_is_said():
    headers = httpx2.Headers({"retry-after": "3600"})
    trouble = failures.of_response(429, headers, b"", "it")
    assert backoff(trouble) is False
    assert "3600 s" in trouble.error.message


def test_other_exceptions_are_not_tried_again():
    assert backoff(ValueError("a bug")) is False
    assert backoff(Trouble(ServerFailed("x"))) is False


def test_a_server_that_is_gone_is_tried_once_by_each_until_it_is_back(fake, backend):
    fake.on(CHAT, *[Reply(reset=True)] * (TRIES + 2), chat("great"))
    for n_seen in (TRIES, TRIES + 1, TRIES + 2):
        with pytest.raises(ServerUnreachable):
            ask(backend)
        assert len(fake.seen[CHAT]) == n_seen
    assert ask(backend) == "great"
    fake.on(CHAT, Reply(reset=True), chat("awful"))
    assert ask(backend) == "awful"


def test_a_server_that_never_listened_is_unreachable_at_once():
    with pytest.raises(ServerUnreachable, match="cannot be reached") as caught:
        OpenAIBackend("http://127.0.0.1:9/v1", "m")
    assert caught.value.hint


# --- time ------------------------------------------------------------------------------------


def test_a_slow_answer_is_a_timeout_that_names_the_setting(fake):
    fake.on(CHAT, Reply(hang=True))
    backend = OpenAIBackend(f"{fake.url}/v1", timeout_s=0.05)
    with pytest.raises(ServerTimeout, match=r"within 0\.05 s") as caught:
        ask(backend)
    assert "timeout_s" in caught.value.hint
    assert len(fake.seen[CHAT]) == 1
    backend.close()


def test_a_deadline_ends_a_request_that_hangs(fake, backend):
    fake.on(CHAT, Reply(hang=True))
    with pytest.raises(DeadlineExceeded):
        ask(backend, deadline_s=0.05)


def test_a_request_that_hangs_can_be_cancelled(fake, backend):
    fake.on(CHAT, Reply(hang=True))
    handle = backend.submit(Request(prompt=Prompt((Message("user", "x"),)), constraint=LABEL))
    with pytest.raises(TimeoutError):
        handle.result(0.05)
    handle.cancel()
    with pytest.raises(Cancelled):
        handle.result(10)


def test_closing_cancels_what_hangs_and_refuses_what_comes(fake):
    fake.on(CHAT, Reply(hang=True))
    backend = OpenAIBackend(f"{fake.url}/v1")
    handle = backend.submit(Request(prompt=Prompt((Message("user", "x"),)), constraint=LABEL))
    backend.close()
    backend.close()
    with pytest.raises(Cancelled):
        handle.result(10)
    with pytest.raises(EngineFailed, match="closed"):
        ask(backend)


# --- held to its form ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ['{"answer": "great"}', "great", " great\n", '"great"', '```json\n{"answer":"great"}\n```'],
)
def test_an_answer_is_found_in_the_forms_in_which_servers_send_it(fake, backend, text):
    fake.on(CHAT, chat(text))
    assert ask(backend) == "great"
    assert backend.counts["repaired_answers"] == 0


def test_a_wrong_answer_goes_back_with_what_was_wrong(fake, backend):
    fake.on(CHAT, chat('{"n": "three"}'), chat('```\n{"n": 3}\n```'))
    completion = backend.submit(
        Request(prompt=Prompt((Message("user", "how many?"),)), constraint=OBJECT)
    ).result(30)
    assert orjson.loads(completion.text) == {"n": 3}
    first, second = fake.seen[CHAT]
    assert [message["role"] for message in second["messages"]] == ["user", "assistant", "user"]
    assert second["messages"][1]["content"] == '{"n": "three"}'
    assert "/n" in second["messages"][2]["content"]
    assert second["response_format"] == first["response_format"]
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (20, 6)
    assert backend.counts["repaired_answers"] == 1


def test_a_model_that_never_keeps_to_the_form_is_asked_three_times_and_withheld(fake, backend):
    fake.on(CHAT, chat("I would say it is quite great"))
    with pytest.raises(ConstraintFailed, match="asked 3 times") as caught:
        ask(backend)
    assert "I would say" in caught.value.message
    assert len(fake.seen[CHAT]) == 3


def test_an_answer_that_was_cut_says_so(fake, backend):
    fake.on(CHAT, chat('{"n": 1', finish="length"))
    with pytest.raises(ConstraintFailed, match="cut") as caught:
        ask(backend, OBJECT)
    assert "more tokens" in caught.value.hint


def test_a_server_that_refuses_response_format_is_told_in_words_from_then_on(fake, backend):
    refusal = error(400, "response_format json_schema is not supported")
    fake.on(CHAT, refusal, refusal, chat("great"))
    assert [ask(backend), ask(backend)] == ["great", "great"]
    refused, again, *told = fake.seen[CHAT]
    assert "response_format" in refused
    assert "response_format" in again
    assert len(told) == 2
    for body in told:
        assert "response_format" not in body
        assert "- great\n- awful" in body["messages"][-1]["content"]


def test_a_server_that_wants_an_object_is_given_one_from_then_on(fake, backend):
    refusal = error(400, "Invalid schema for response_format 'answer': type must be 'object'")
    fake.on(CHAT, refusal, chat('{"answer":"great"}'))
    assert [ask(backend), ask(backend)] == ["great", "great"]
    schemas = [body["response_format"]["json_schema"]["schema"] for body in fake.seen[CHAT]]
    assert [schema["type"] for schema in schemas] == ["string", "object", "object"]


def test_another_refusal_is_no_reason_to_ask_otherwise(fake, backend):
    fake.on(CHAT, error(400, "temperature is not supported"))
    with pytest.raises(RequestRefused, match="temperature"):
        ask(backend)
    assert len(fake.seen[CHAT]) == 1


def test_the_form_is_asked_for_strictly_where_that_mode_takes_the_schema(fake, backend):
    fake.on(CHAT, chat('{"n": 3}'))
    ask(backend, OBJECT)
    loose = Constraint("json_schema", '{"type":"object","properties":{"n":{"type":"integer"}}}')
    ask(backend, loose)
    asked = [body["response_format"]["json_schema"] for body in fake.seen[CHAT]]
    assert [form["strict"] for form in asked] == [True, False]
    assert asked[0]["schema"]["additionalProperties"] is False


# --- streams ---------------------------------------------------------------------------------


def test_a_free_answer_is_streamed(fake, backend):
    odd = "a\u2028b\x85"  # at which Python splits lines, and JSON need not escape
    fake.on(CHAT, streamed("Hel", "lo ", "世界", odd))
    handle = backend.submit(Request(prompt=Prompt((Message("user", "x"),))))
    assert list(handle) == ["Hel", "lo ", "世界", odd]
    completion = handle.result(0)
    assert completion.text == f"Hello 世界{odd}"
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (7, 4)
    assert fake.seen[CHAT][0]["stream"] is True


def test_a_stream_that_breaks_before_its_first_word_is_begun_again(fake, backend):
    fake.on(CHAT, streamed(reset=True), streamed(end=False), error(503, "x"), streamed("whole"))
    assert ask(backend, None) == "whole"
    assert backend.counts["resent_requests"] == 3


@pytest.mark.parametrize("short", [True, False])
def test_a_stream_that_breaks_after_its_first_word_is_an_error_for_the_job_to_retry(
    fake, backend, short
):
    fake.on(CHAT, streamed("half", end=False, short=short))
    handle = backend.submit(Request(prompt=Prompt((Message("user", "x"),))))
    with pytest.raises(AnswerInterrupted):
        list(handle)
    with pytest.raises(AnswerInterrupted) as caught:
        handle.result(10)
    assert caught.value.retryable
    assert len(fake.seen[CHAT]) == 1


def test_an_error_within_a_stream_is_that_error(fake, backend):
    body = b'data: {"error": {"code": 401, "message": "expired"}}\n\n'
    fake.on(CHAT, Reply(body, headers={"content-type": "text/event-stream"}))
    with pytest.raises(AccessDenied, match="expired"):
        ask(backend, None)


# --- what is sent, and what cannot be --------------------------------------------------------


def test_what_was_asked_is_what_is_sent(fake, backend):
    fake.on(CHAT, streamed("x"))
    sampling = Sampling(temperature=0.7, seed=5, top_p=0.5)
    ask(backend, None, sampling=sampling, stop=("\n",), max_tokens=9)
    sent = fake.seen[CHAT][0]
    assert sent == {
        "model": "fake-model",
        "messages": [{"role": "user", "content": "x"}],
        "max_tokens": 9,
        "temperature": 0.7,
        "top_p": 0.5,
        "seed": 5,
        "stop": ["\n"],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


@pytest.mark.parametrize("constraint", [LABEL, None])
def test_a_model_with_another_name_for_the_budget_is_given_that_from_then_on(
    fake, backend, constraint
):
    answer = streamed("great") if constraint is None else chat("great")
    refusal = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    fake.on(CHAT, error(400, refusal), answer)
    assert [ask(backend, constraint, max_tokens=9) for _ in range(2)] == ["great", "great"]
    first, *others = fake.seen[CHAT]
    assert first["max_tokens"] == 9
    assert [body["max_completion_tokens"] for body in others] == [9, 9]
    assert not any("max_tokens" in body for body in others)


@pytest.mark.parametrize(
    "options",
    [
        {"sampling": Sampling(top_k=3)},
        {"sampling": Sampling(repeat_penalty=1.2)},
        {"think": "free"},
        {"logprobs": True},
        {"prompt": Prompt(raw="x")},
        {"prompt": Prompt((Message("user", "x"),), prefill="{")},
        {"constraint": Constraint("gbnf", 'root ::= "a"')},
    ],
)
def test_what_the_protocol_lacks_is_refused_at_once(fake, backend, options):
    request = Request(**{"prompt": Prompt((Message("user", "x"),)), **options})
    for try_it in (backend.check, backend.submit):
        with pytest.raises(CapabilityMissing, match="protocol"):
            try_it(request)
    assert not fake.seen[CHAT]


# --- which model -----------------------------------------------------------------------------


def test_the_only_model_is_taken_with_its_room(fake, backend):
    assert (backend.name, backend.capabilities.context_tokens) == ("fake-model", 4096)


def test_of_several_models_one_must_be_named(fake):
    fake.on("/v1/models", Reply({"data": [{"id": "a"}, {"id": "b"}]}))
    with pytest.raises(InputError, match="2 models") as caught:
        OpenAIBackend(f"{fake.url}/v1")
    assert "a, b" in caught.value.hint
    with pytest.raises(InputError, match="no model 'c'"):
        OpenAIBackend(f"{fake.url}/v1", "c")
    OpenAIBackend(f"{fake.url}/v1", "b").close()


def test_a_server_that_lists_none_is_believed_to_have_the_one_that_is_named(fake):
    with pytest.raises(InputError, match="lists no models") as caught:
        OpenAIBackend(f"{fake.url}/other")
    assert "/v1" in caught.value.hint
    OpenAIBackend(f"{fake.url}/other", "m").close()


# --- at once ---------------------------------------------------------------------------------


def test_no_more_are_under_way_than_the_width(fake, backend):
    fake.on(CHAT, chat("great"))
    request = Request(prompt=Prompt((Message("user", "x"),)), constraint=LABEL)
    for handle in [backend.submit(request) for _ in range(40)]:
        handle.result(30)
    assert 1 <= fake.most_at_once <= 4
