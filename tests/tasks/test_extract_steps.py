"""The steps of an extraction, driven by hand: no model, every answer scripted."""

from __future__ import annotations

import json

import pytest
from scripted import ONE_EACH, WordBackend, always, completion, run_by_hand, scores, user_text

from vedette.errors import (
    CapabilityMissing,
    ConstraintFailed,
    DeadlineExceeded,
    InputError,
    InputTooLong,
    SchemaError,
)
from vedette.tasks.extract import Example, Extract
from vedette.types import Answer, Item

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": ["string", "null"], "maxLength": 20},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 3},
    },
    "required": ["name", "tags"],
    "additionalProperties": False,
}
ANSWER = {"name": "x", "tags": []}


def verbatim_schema():
    name = {**SCHEMA["properties"]["name"], "x-verbatim": True}
    return {**SCHEMA, "properties": {**SCHEMA["properties"], "name": name}}


@pytest.mark.parametrize("text", ["", "  \n\t "])
def test_an_empty_text_gets_an_explicit_empty_answer_and_asks_nothing(text):
    answer, asked = run_by_hand(Extract(SCHEMA), text, always(None))
    assert asked == []
    assert answer == Answer(value={"name": None, "tags": []}, extra={"empty": True})


def test_one_request_has_the_whole_schema_and_shares_all_but_the_text():
    task = Extract(SCHEMA)
    answer, asked = run_by_hand(task, "some text", always(ANSWER))
    ((request,),) = asked
    assert json.loads(request.constraint.source) == SCHEMA
    assert request.constraint.input == ""
    assert user_text(request) == "some text"
    assert request.prompt.shared_messages == len(request.prompt.messages) - 1
    assert answer == Answer(value=ANSWER, usage=ONE_EACH)


def test_examples_stand_between_instructions_and_text():
    task = Extract(SCHEMA, examples=(Example("{fields}", ANSWER),), instructions="Be {brief}.")
    system, *shown = task.prompt("mine").messages
    assert "- name: text or null" in system.content
    assert system.content.endswith("\nBe {brief}.")
    assert [(m.role, m.content) for m in shown] == [
        ("user", "{fields}"),
        ("assistant", '{"name": "x", "tags": []}'),
        ("user", "mine"),
    ]


def test_without_examples_the_form_of_the_answer_is_shown():
    (system,) = Extract(SCHEMA).shared_messages
    assert system.content.endswith('{"name": "...", "tags": ["..."]}')


def test_for_a_tuned_model_nothing_is_said_but_the_text():
    task = Extract(SCHEMA, prompt_schema=False)
    assert [m.content for m in task.prompt("mine").messages] == ["mine"]
    assert task.prompt("mine").shared_messages == 0
    assert task.schema_prompt == ""
    told = Extract(SCHEMA, prompt_schema=False, instructions="Be brief.")
    assert [m.content for m in told.shared_messages] == ["Be brief."]
    assert task.identity != told.identity != Extract(SCHEMA).identity


def test_what_shows_the_schema_is_known():
    (system,) = Extract(SCHEMA).shared_messages
    lines, form = Extract(SCHEMA).schema_prompt.rsplit("\n", 1)
    assert "- name: text or null" in lines
    assert lines.splitlines()[0] in system.content
    assert form in system.content


def test_a_verbatim_schema_reads_the_input_and_tells_the_spans():
    answer, asked = run_by_hand(Extract(verbatim_schema()), "ab x", always(ANSWER))
    assert asked[0][0].constraint.input == "ab x"
    assert answer.extra == {"spans": {"/name": [3, 4]}}


def test_a_long_text_is_read_in_windows_that_are_merged_and_counted():
    task = Extract(verbatim_schema(), window_tokens=150)
    text = "".join(f"w{i} " for i in range(400))

    def respond(ask):
        first = user_text(ask).split()[0]
        return completion({"name": None if first == "w0" else first, "tags": [first]})

    answer, asked = run_by_hand(task, text, respond)
    (requests,) = asked
    texts = [user_text(request) for request in requests]
    assert all(len(t.split()) <= 150 for t in texts)
    assert [request.constraint.input for request in requests] == texts
    second = texts[1].split()[0]
    assert answer.value["name"] == second
    assert answer.value["tags"] == [t.split()[0] for t in texts][:3]
    assert answer.extra["windows"] == len(texts) > 2
    start, end = answer.extra["spans"]["/name"]
    assert text[start:end] == second
    assert answer.usage.prompt_tokens == 10 * len(texts)


def test_windows_shrink_to_what_the_context_leaves():
    task = Extract(SCHEMA, max_tokens=50)
    _, asked = run_by_hand(task, "word " * 400, always(ANSWER), WordBackend(context_tokens=250))
    assert len(asked[0]) > 1
    shared = len(task.shared_messages[0].content.split())
    for request in asked[0]:
        assert len(user_text(request).split()) + shared + 50 < 250


def test_no_room_for_any_text_is_said_with_the_numbers():
    with pytest.raises(InputTooLong, match="answer up to 50; of 100") as caught:
        run_by_hand(
            Extract(SCHEMA, max_tokens=50),
            "word " * 400,
            always(ANSWER),
            WordBackend(context_tokens=100),
        )
    assert caught.value.hint


def test_a_missing_capability_is_named():
    with pytest.raises(CapabilityMissing, match="constrain"):
        run_by_hand(Extract(SCHEMA), "x", always(ANSWER), WordBackend(can_constrain=False))


@pytest.mark.parametrize(
    "wrong", ['{"name": "x"', "", {"name": 3, "tags": []}, {"name": "x"}, {**ANSWER, "more": 1}]
)
def test_an_answer_that_does_not_fit_is_never_passed_on(wrong):
    with pytest.raises(ConstraintFailed, match=r"^the answer (is not JSON|does not fit)"):
        run_by_hand(Extract(SCHEMA), "x", always(wrong))


def test_a_backend_that_answers_another_question_is_a_bug():
    with pytest.raises(TypeError):
        run_by_hand(Extract(SCHEMA), "x", lambda ask: scores(-1))


def test_a_failed_request_ends_the_item_with_its_error():
    steps = Extract(SCHEMA).steps(Item(id="1", text="x"), WordBackend())
    next(steps)
    with pytest.raises(DeadlineExceeded):
        steps.throw(DeadlineExceeded("late"))


def test_max_tokens_none_takes_what_the_schema_can_need():
    _, asked = run_by_hand(Extract(SCHEMA), "x", always(ANSWER))
    assert 60 < asked[0][0].max_tokens < 200
    _, asked = run_by_hand(Extract(SCHEMA, max_tokens=7), "x", always(ANSWER))
    assert asked[0][0].max_tokens == 7


@pytest.mark.parametrize("options", [{"max_tokens": 0}, {"max_tokens": -1}, {"window_tokens": 0}])
def test_numbers_that_cannot_be_are_refused(options):
    with pytest.raises(InputError, match="must be at least 1"):
        Extract(SCHEMA, **options)


def test_the_identity_changes_with_what_the_answers_depend_on_and_with_nothing_else():
    base = Extract(SCHEMA)
    assert base.identity == Extract(json.loads(json.dumps(SCHEMA))).identity
    run_by_hand(base, "x", always(ANSWER))
    assert base.identity == Extract(SCHEMA).identity
    others = [
        Extract(verbatim_schema()),
        Extract(SCHEMA, examples=(Example("a", ANSWER),)),
        Extract(SCHEMA, examples=(Example("b", ANSWER),)),
        Extract(SCHEMA, instructions="More."),
        Extract(SCHEMA, max_tokens=99),
        Extract(SCHEMA, window_tokens=99),
    ]
    seen = {json.dumps(task.identity, sort_keys=True) for task in [base, *others]}
    assert len(seen) == 1 + len(others)


def test_an_example_that_does_not_fit_is_named_by_its_number():
    rows = (Example("a", ANSWER), Example("b", {"name": "x"}))
    with pytest.raises(SchemaError, match=r"^example 2 does not fit the schema"):
        Extract(SCHEMA, examples=rows)


@pytest.mark.parametrize("schema", [{"type": "thing"}, {"type": object}, {1: 2}])
def test_a_schema_that_is_none_is_refused(schema):
    with pytest.raises(SchemaError):
        Extract(schema)
