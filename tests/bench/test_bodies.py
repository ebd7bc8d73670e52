"""What the peer is asked: vedette's own messages, schema and labels, nothing added."""

from __future__ import annotations

import orjson
import pytest

from vedette.backends.choice_grammar import choice_grammar
from vedette.bench.batch import check_expected, reader
from vedette.bench.bodies import label_body, text_body
from vedette.bench.classify import read_label, right_labels
from vedette.bench.client import PeerReply, read_reply
from vedette.bench.expected import parse_expected
from vedette.bench.keywords import KEYWORDS, keywords_in, plain_schema
from vedette.bench.questions import Question, Questions, warmup_items
from vedette.engine.constraint import grounded
from vedette.errors import FileError, InputError
from vedette.types import Constraint, Item, Message, Prompt, Request, ScoreRequest

PROMPT = Prompt(messages=(Message("system", "Do it."), Message("user", "text <|im_end|> 日志")))
SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": ["string", "null"], "x-verbatim": True, "maxLength": 9},
        "b": {"enum": ["WARN", "INFO", None], "x-evidence": {"WARN": "(?i)warn"}},
        "x-verbatim": {"anyOf": [{"type": "string", "x-one-of-input": "id=(\\w+)"}]},
    },
    "default": {"x-evidence": 1},
}
PLAIN = {
    "type": "object",
    "properties": {
        "a": {"type": ["string", "null"], "maxLength": 9},
        "b": {"enum": ["WARN", "INFO", None]},
        "x-verbatim": {"anyOf": [{"type": "string"}]},
    },
    "default": {"x-evidence": 1},
}


def request(constraint: Constraint | None = None) -> Request:
    return Request(prompt=PROMPT, constraint=constraint, max_tokens=77)


def test_only_keywords_are_taken_out_of_a_schema_not_properties_or_data_of_that_name():
    assert plain_schema(SCHEMA) == PLAIN


def test_vedettes_keywords_are_found_wherever_they_stand():
    assert keywords_in(SCHEMA) == ("x-verbatim", "x-evidence", "x-one-of-input")
    assert keywords_in(PLAIN) == ()


def test_every_keyword_that_changes_what_may_be_answered_is_known():
    assert set(grounded._KEYWORDS) | {"x-verbatim"} == set(KEYWORDS)


def test_a_grounded_schema_says_of_the_row_what_plain_json_schema_can():
    text = "a line with id=q7 and no alarm"
    constraint = Constraint("json_schema", orjson.dumps(SCHEMA).decode(), text)
    body = orjson.loads(text_body(request(constraint), grounded=True))
    properties = body["response_format"]["json_schema"]["schema"]["properties"]
    assert properties["a"] == PLAIN["properties"]["a"]
    assert properties["b"]["enum"] == ["INFO", None]
    assert properties["x-verbatim"]["anyOf"][0]["enum"] == ["q7"]
    assert "x-" not in orjson.dumps([properties["b"], properties["x-verbatim"]]).decode()


def test_a_text_request_keeps_messages_budget_and_schema_and_is_greedy():
    body = orjson.loads(
        text_body(request(Constraint("json_schema", orjson.dumps(SCHEMA).decode())))
    )
    assert body["messages"] == [
        {"role": "system", "content": "Do it."},
        {"role": "user", "content": "text <|im_end|> 日志"},
    ]
    assert (body["max_tokens"], body["temperature"], body["cache_prompt"]) == (77, 0, True)
    assert body["response_format"]["json_schema"]["schema"] == PLAIN


def test_what_a_chat_endpoint_cannot_be_asked_is_refused():
    with pytest.raises(InputError, match="raw prompts"):
        text_body(Request(prompt=Prompt(raw="x")))
    with pytest.raises(InputError, match="regex constraint"):
        text_body(request(Constraint("regex", "a+")))


def test_a_prefill_opens_the_assistants_turn():
    prompt = Prompt(messages=PROMPT.messages, prefill="{")
    body = orjson.loads(text_body(Request(prompt=prompt)))
    assert body["messages"][-1] == {"role": "assistant", "content": "{"}


def test_a_label_question_has_room_for_its_longest_label():
    body = orjson.loads(label_body(ScoreRequest(prompt=PROMPT, choices=("no", "否定的"))))
    assert body["grammar"] == 'root ::= "no" | "否定的"'
    assert body["max_tokens"] >= len("否定的".encode()) + 1


def test_labels_are_escaped_in_the_grammar():
    assert choice_grammar(('say "hi"', "a\\b", "x\ny")) == (
        r'root ::= "say \"hi\"" | "a\\b" | "x\ny"'
    )


def test_a_reply_is_read_with_its_usage():
    content = orjson.dumps(
        {
            "choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 2},
            "timings": {"cache_n": 5},
        }
    )
    reply = read_reply(200, content, 1.5)
    assert (reply.text, reply.error, reply.finish_reason, reply.wall_ms) == ("hi", "", "stop", 1.5)
    assert (reply.usage.prompt_tokens, reply.usage.cached_tokens) == (9, 5)
    assert reply.usage.completion_tokens == 2


@pytest.mark.parametrize(
    ("status", "content", "said"),
    [
        (400, b'{"error": {"message": "bad grammar"}}', "HTTP 400: bad grammar"),
        (500, b'{"error": "oops"}', "HTTP 500: oops"),
        (502, b"<html>", "HTTP 502, not a chat completion: <html>"),
        (200, b"{}", "HTTP 200, not a chat completion: {}"),
        (200, b"[]", "HTTP 200, not a chat completion: []"),
    ],
)
def test_what_is_no_answer_is_an_error_reply_that_shows_it(status, content, said):
    reply = read_reply(status, content, 1.0)
    assert (reply.text, reply.error) == ("", said)


def test_the_parts_of_a_long_item_are_merged_as_the_task_does():
    read = reader({"type": "object", "properties": {"a": {}, "b": {}}})
    parts = [PeerReply(text='{"a": null, "b": 1}'), PeerReply(text='{"a": "x", "b": 2}')]
    assert read(parts).value == {"a": "x", "b": 1}


def test_an_answer_that_is_cut_off_or_refused_is_an_error_with_its_reason():
    read = reader({"type": "object"})
    assert read([PeerReply(text='{"a', finish_reason="length")]).error == "the answer is cut off"
    assert read([PeerReply(text="Sure!", finish_reason="stop")]).error == "the answer is not JSON"
    assert read([PeerReply(text="{}"), PeerReply(error="HTTP 400: no")]).error == "HTTP 400: no"
    assert read_label([PeerReply(error="HTTP 400: no")]).error == "HTTP 400: no"


def test_right_labels_must_be_of_the_list_and_ids_unique():
    items = [Item(id="1", text="x", columns={"label": "yes"})]
    assert right_labels(items, "label", ["yes", "no"]) == {"1": "yes"}
    with pytest.raises(InputError, match="row 1 has the label 'yes', which is not in the label"):
        right_labels(items, "label", ["no"])
    with pytest.raises(InputError, match="two rows have the same id"):
        right_labels(items * 2, "label", ["yes"])


def test_right_answers_are_read_by_id():
    text = '{"id": 1, "value": {"a": null}}\n\n{"id": "x", "value": 2, "note": ""}\n'
    assert parse_expected(text, "f") == {"1": {"a": None}, "x": 2}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"id": 1}\n', "f line 1 is no expected answer"),
        ('{"id": 1, "value": 2}\nnonsense', "f line 2 is no expected answer"),
        ("[]", "f line 1 is no expected answer"),
        ('{"id": 1, "value": 2}\n{"id": "1", "value": 2}', "f line 2: the id '1' is there twice"),
        ("\n", "f holds no expected answer"),
    ],
)
def test_a_file_of_right_answers_that_is_none_says_where(text, said):
    with pytest.raises(FileError, match=said):
        parse_expected(text, "f")


def test_right_answers_to_other_items_are_refused():
    questions = Questions(
        asked=(Question(item=Item(id="7", text="x"), asks=()),), blank=0, refused=0
    )
    check_expected({}, questions)
    check_expected({"7": 1, "8": 1}, questions)
    with pytest.raises(InputError, match="the first are '1' expected and '7' asked"):
        check_expected({"1": 1}, questions)


def test_warm_up_items_are_all_different():
    assert len({item.text for item in warmup_items(50)}) == 50
