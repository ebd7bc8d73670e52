"""Forms: what is known stays, what the text says is filled in, what is missing is asked."""

from __future__ import annotations

import json

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import WordBackend, always, run_by_hand, user_text

from vedette.errors import (
    CapabilityMissing,
    ConstraintFailed,
    InputError,
    InputTooLong,
    SchemaError,
)
from vedette.tasks.form import FillForm
from vedette.tasks.form_fields import Form
from vedette.types import Item

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"title": "What is your name?", "type": "string", "maxLength": 20},
        "guests": {"description": "How many\n are you?", "type": "integer", "minimum": 1},
        "day": {"$ref": "#/$defs/day"},
        "note": {"type": ["string", "null"]},
    },
    "required": ["name", "guests"],
    "$defs": {"day": {"title": "Which day?", "enum": ["Sat", "Sun"]}},
}
NOTHING = {"name": None, "guests": None, "day": None, "note": None}


def fill(known=None, reply=NOTHING, text="We are two.", columns=None):
    task = FillForm(SCHEMA, known or {}, known_column="known")
    item = Item(id="1", text=text, columns=columns or {})
    steps = task.steps(item, WordBackend())
    requests = next(steps)
    try:
        steps.send([always(reply)(requests[0])])
    except StopIteration as end:
        return end.value, requests[0]
    raise AssertionError("one step is enough")


def test_the_answer_tells_form_filled_and_missing_with_their_questions():
    answer, _ = fill({"name": "Ann"}, {**NOTHING, "name": "Ann", "guests": 2})
    assert answer.value == {
        "form": {"name": "Ann", "guests": 2},
        "complete": True,
        "filled": ["guests"],
        "missing": [
            {"field": "day", "question": "Which day?", "required": False},
            {"field": "note", "question": "note", "required": False},
        ],
    }


def test_a_form_without_a_required_field_is_not_complete():
    answer, _ = fill(reply={**NOTHING, "day": "Sun"})
    assert not answer.value["complete"]
    missing = [entry["question"] for entry in answer.value["missing"] if entry["required"]]
    assert missing == ["What is your name?", "How many are you?"]


def test_known_values_can_be_nothing_else_and_the_others_may_be_null():
    _, request = fill({"guests": 2}, {**NOTHING, "guests": 2})
    valid = jsonschema_rs.validator_for(json.loads(request.constraint.source)).is_valid
    assert valid({**NOTHING, "guests": 2})
    assert valid({"name": "Ann", "guests": 2, "day": "Sat", "note": "x"})
    assert not valid({**NOTHING, "guests": 3})
    assert not valid(NOTHING)
    assert not valid({**NOTHING, "guests": 2, "day": "Mon"})
    assert '{"guests": 2}' in user_text(request)


def test_a_row_knows_more_than_the_job_and_comes_first():
    reply = {**NOTHING, "name": "Bea", "guests": 3}
    columns = {"known": {"name": "Bea", "guests": 3}}
    answer, _ = fill({"name": "Ann"}, reply, columns=columns)
    assert answer.value["form"] == {"name": "Bea", "guests": 3}
    assert answer.value["filled"] == []
    assert fill(columns={"known": '{"name": null}'}, reply=NOTHING)[0].value["form"] == {}


def test_a_filled_form_is_not_asked_for_and_an_empty_text_adds_nothing():
    known = {"name": "Ann", "guests": 2, "day": "Sat", "note": "x"}
    answer, asked = run_by_hand(FillForm(SCHEMA, known), "anything", always(None))
    assert (asked, answer.value["form"], answer.value["missing"]) == ([], known, [])
    answer, asked = run_by_hand(FillForm(SCHEMA, {"guests": 2}), "  ", always(None))
    assert (asked, answer.value["form"], answer.extra) == ([], {"guests": 2}, {"empty": True})


@given(
    known=st.fixed_dictionaries(
        {},
        optional={
            "name": st.text(max_size=20),
            "guests": st.integers(1, 2**53),
            "day": st.sampled_from(["Sat", "Sun"]),
            "note": st.text(max_size=9),
        },
    )
)
def test_a_form_given_back_as_known_is_the_same_form(known):
    first = Form(SCHEMA).checked(known, "known")
    assert first == known
    answer, _ = run_by_hand(FillForm(SCHEMA, known), "x", always({**NOTHING, **known}))
    assert answer.value["form"] == known
    assert FillForm(SCHEMA, answer.value["form"]).known == known


@pytest.mark.parametrize("reply", [{**NOTHING, "name": "Bob"}, {"guests": 1}, [1], "{"])
def test_a_reply_that_changes_what_is_known_or_is_no_form_is_never_passed_on(reply):
    with pytest.raises(ConstraintFailed):
        fill({"name": "Ann"}, reply)


def test_a_reply_that_does_not_fit_its_field_is_never_passed_on():
    with pytest.raises(ConstraintFailed, match="does not fit the form"):
        fill(reply={**NOTHING, "guests": 0})


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"nam": "Ann"}, "'nam' is no field of the form"),
        ({"guests": "two"}, "known: the value of 'guests' does not fit"),
        ({"day": "Mon"}, "known: the value of 'day' does not fit"),
    ],
)
def test_a_known_value_that_does_not_fit_is_refused(known, said):
    with pytest.raises(InputError, match=said):
        FillForm(SCHEMA, known)
    with pytest.raises(InputError, match=said.replace("known:", "the column known:")):
        fill(columns={"known": known})


@pytest.mark.parametrize("column", ["{", 3, ["name"]])
def test_a_column_that_is_no_object_is_refused(column):
    with pytest.raises(InputError, match="the column known"):
        fill(columns={"known": column})


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "array"}, "schema of an object with properties"),
        ({"type": "object"}, "schema of an object with properties"),
        ({"properties": {}}, "nothing to fill in"),
        ({"properties": {"a": {}}, "additionalProperties": True}, "no others"),
        ({"properties": {"a": {}}, "if": {}, "then": {}}, "a form cannot have 'if'"),
        ({"properties": {"a": {}}, "required": ["b"]}, "requires 'b'"),
        ({"properties": {"a": {"type": "dict"}}}, "dict"),
    ],
)
def test_a_schema_that_is_no_form_is_refused(schema, said):
    with pytest.raises(SchemaError, match=said):
        FillForm(schema)


def test_what_does_not_fit_or_cannot_be_constrained_is_refused():
    with pytest.raises(InputTooLong):
        run_by_hand(FillForm(SCHEMA), "word " * 5000, always(None))
    with pytest.raises(CapabilityMissing):
        run_by_hand(FillForm(SCHEMA), "x", always(None), WordBackend(can_constrain=False))
    with pytest.raises(InputError, match="max_tokens is 0"):
        FillForm(SCHEMA, max_tokens=0)


def test_a_column_that_nobody_reads_is_not_mistaken_for_known():
    assert fill(columns={"text": "x", "other": 3})[0].value["form"] == {}
