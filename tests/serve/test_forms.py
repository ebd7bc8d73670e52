"""Every form in which clients ask for structured answers is enforced, and only one at once."""

from __future__ import annotations

import json
import re

import pytest

HELLO = [{"role": "user", "content": "hello"}]
SCHEMA = {
    "type": "object",
    "properties": {"level": {"enum": ["INFO", "WARN"]}},
    "required": ["level"],
}
LARK = 'start: "<" /[0-9]{2}/ ">"'
GBNF = 'root ::= "<" [0-9]{2} ">"'


def is_level(text: str) -> bool:
    return json.loads(text) in ({"level": "INFO"}, {"level": "WARN"})


def is_object(text: str) -> bool:
    return isinstance(json.loads(text), dict)


def is_bracketed(text: str) -> bool:
    return re.fullmatch(r"<\d\d>", text) is not None


def is_choice(text: str) -> bool:
    return text in ("red", "深蓝")


FORMS = [
    ({"response_format": {"type": "json_object"}}, is_object),
    ({"response_format": {"type": "json_object", "schema": SCHEMA}}, is_level),
    ({"json_schema": SCHEMA}, is_level),
    ({"grammar": GBNF}, is_bracketed),
    ({"grammar": f"%llguidance {{}}\n{LARK}"}, is_bracketed),
    ({"format": "json"}, is_object),
    ({"format": SCHEMA}, is_level),
    ({"structured_outputs": {"json": SCHEMA}}, is_level),
    ({"structured_outputs": {"json": json.dumps(SCHEMA)}}, is_level),
    ({"structured_outputs": {"json_object": True}}, is_object),
    ({"structured_outputs": {"regex": r"<\d{2}>"}}, is_bracketed),
    ({"structured_outputs": {"choice": ["red", "深蓝"]}}, is_choice),
    ({"structured_outputs": {"grammar": GBNF}}, is_bracketed),
    ({"structured_outputs": {"grammar": LARK}}, is_bracketed),
    ({"guided_json": SCHEMA}, is_level),
    ({"guided_json": json.dumps(SCHEMA)}, is_level),
    ({"guided_regex": r"<\d{2}>"}, is_bracketed),
    ({"guided_choice": ["red", "深蓝"]}, is_choice),
    ({"guided_grammar": LARK}, is_bracketed),
]


@pytest.mark.parametrize(("form", "holds"), FORMS, ids=[json.dumps(form)[:60] for form, _ in FORMS])
def test_a_form_is_enforced(client, form, holds):
    answer = client.chat.completions.create(
        model="tiny",
        messages=HELLO,
        max_tokens=60,
        temperature=2.0,
        seed=4,
        extra_body=form,
    )
    assert holds(answer.choices[0].message.content)


def test_texts_are_held_to_forms_too(client):
    form = {"guided_choice": ["red", "深蓝"]}
    answer = client.completions.create(model="tiny", prompt="hello", max_tokens=9, extra_body=form)
    assert is_choice(answer.choices[0].text)


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        ({"format": "json", "guided_regex": "a"}, "only one of format and guided_regex"),
        ({"response_format": {"type": "json_object"}, "grammar": GBNF}, "only one of"),
        ({"structured_outputs": {"regex": "a", "choice": ["a"]}}, "only one of regex and choice"),
        ({"structured_outputs": {}}, "asks for nothing"),
        ({"structured_outputs": {"structural_tag": "x"}}, "structural_tag"),
        ({"format": "yaml"}, "yaml"),
        ({"response_format": {"type": "text", "schema": SCHEMA}}, "schema goes with"),
        ({"response_format": {"type": "structural_tag"}}, "structural_tag"),
        ({"guided_json": "[]"}, "must be a JSON object"),
        ({"guided_json": "{"}, "not JSON"),
        ({"guided_grammar": "start: ("}, "lark cannot be enforced"),
        ({"guided_grammar": 'root ::= "a" |* "b"'}, "grammar"),
        ({"guided_regex": "("}, "regex cannot be enforced"),
        ({"guided_choice": []}, "at least one"),
        ({"guided_decoding_backend": "outlines"}, "no field guided_decoding_backend"),
    ],
)
def test_what_is_no_form_or_more_than_one_is_refused(http, form, reason):
    body = {"model": "tiny", "messages": HELLO, **form}
    reply = http.post("/v1/chat/completions", json=body)
    assert reply.status_code == 400, reply.text
    assert reason in reply.json()["error"]["message"]
