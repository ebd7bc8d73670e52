"""What tasks derive from a schema: outline, example, budget, empty answer, merge, spans."""

from __future__ import annotations

import enum

import jsonschema_rs
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from vedette.tasks.budget import LEAST_TOKENS, MOST_TOKENS, answer_tokens
from vedette.tasks.empty import empty_answer
from vedette.tasks.merge import merge
from vedette.tasks.outline import example_of, outline, resolve
from vedette.tasks.spans import spans_of


class Colour(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


class Part(BaseModel):
    name: str
    colour: Colour | None = None


class Machine(BaseModel):
    serial: int
    parts: list[Part]
    spare: Part | None = None
    note: str | None = None


class Tree(BaseModel):
    label: str
    children: list[Tree] = []
    twin: Tree | None = None


def an_object(properties, **more):
    return {"type": "object", "properties": properties, **more}


leaves = st.one_of(
    st.sampled_from(
        [
            {"type": "boolean"},
            {"type": "null"},
            {"type": ["string", "null"]},
            {"type": "string", "format": "date"},
            {"type": "string", "format": "date-time"},
            {"type": "string", "format": "email"},
            {"type": "string", "format": "uuid"},
            {"const": {"a": [1]}},
            {"enum": [None, "x"]},
            {"enum": ["x"], "type": "string"},
        ]
    ),
    st.builds(
        lambda low, more: {"type": "string", "minLength": low, "maxLength": low + more},
        st.integers(0, 9),
        st.integers(0, 9),
    ),
    st.builds(
        lambda kind, low, more: {"type": kind, "minimum": low, "maximum": low + more},
        st.sampled_from(["integer", "number"]),
        st.integers(-9, 9),
        st.integers(0, 9),
    ),
)


def _containers(inner):
    names = st.text(min_size=1, max_size=5)
    return st.one_of(
        st.dictionaries(names, inner, max_size=3).map(
            lambda props: an_object(props, required=list(props), additionalProperties=False)
        ),
        st.builds(
            lambda items, low, more: {
                "type": "array",
                "items": items,
                "minItems": low,
                "maxItems": low + more,
            },
            inner,
            st.integers(0, 3),
            st.integers(0, 3),
        ),
        st.lists(inner, min_size=1, max_size=3).map(lambda branches: {"anyOf": branches}),
    )


schemas = st.recursive(leaves, _containers, max_leaves=8)


@settings(deadline=None)
@given(schemas)
def test_the_example_is_valid_and_the_outline_has_every_top_level_field(schema):
    example = example_of(schema)
    jsonschema_rs.validator_for(schema, validate_formats=True).validate(example)
    lines = outline(schema)
    for name in schema.get("properties", {}):
        assert f"- {name}: " in lines


@settings(deadline=None)
@given(schemas, st.integers(0, 5000))
def test_the_budget_keeps_to_its_bounds_and_never_falls_with_the_input(schema, n_tokens):
    budget = answer_tokens(schema, n_tokens)
    assert LEAST_TOKENS <= budget <= MOST_TOKENS
    assert answer_tokens(schema, n_tokens + 50) >= budget


@settings(deadline=None)
@given(schemas)
def test_the_empty_answer_is_valid_or_null(schema):
    validator = jsonschema_rs.validator_for(schema, validate_formats=True)
    value = empty_answer(schema, validator)
    assert value is None or validator.is_valid(value)


@pytest.mark.parametrize("model", [Part, Machine, Tree])
def test_pydantic_models_can_be_read(model):
    schema = model.model_json_schema()
    model.model_validate(example_of(schema))
    assert LEAST_TOKENS <= answer_tokens(schema, 100) <= MOST_TOKENS
    for name in model.model_fields:
        assert f"- {name}: " in outline(schema)


def test_the_outline_shows_what_is_behind_references_and_choices():
    assert outline(Machine.model_json_schema()).splitlines() == [
        "- serial: whole number. Serial",
        "- parts: list. Parts",
        "  - name: text. Name",
        "  - colour: one of red, blue or null",
        "- spare: object or null",
        "  - name: text. Name",
        "  - colour: one of red, blue or null",
        "- note: text or null. Note",
    ]


def test_the_outline_says_what_each_field_may_be():
    fields = {
        "a": {"const": 3},
        "b": {"enum": ["x", None, 1]},
        "c": {"type": ["string", "null"], "x-verbatim": True, "description": "As written."},
        "d": {"type": "string", "format": "date"},
        "e": {"type": "string", "x-one-of-input": "x"},
        "f": {},
        "g": True,
    }
    assert outline(an_object(fields)).splitlines() == [
        "- a: always 3",
        "- b: one of x, null, 1",
        "- c: copied from the text or null. As written.",
        "- d: text (date)",
        "- e: copied from the text",
        "- f: any value",
        "- g: any value",
    ]


def test_references_are_followed_to_their_end_and_circles_end():
    root = {
        "$defs": {
            "a/b": {"$ref": "#/$defs/c~d"},
            "c~d": {"type": "integer", "title": "C"},
            "x": {"$ref": "#/$defs/y"},
            "y": {"$ref": "#/$defs/x"},
        }
    }
    found = resolve({"$ref": "#/$defs/a~1b", "title": "mine"}, root)
    assert found == {"type": "integer", "title": "mine"}
    assert resolve({"$ref": "#"}, root) == root
    assert resolve({"$ref": "#/$defs/none"}, root) == {}
    assert "type" not in resolve({"$ref": "#/$defs/x"}, root)
    assert resolve(True, root) == {}


def test_the_budget_follows_what_the_schema_can_hold():
    free = an_object({"a": {"type": "string"}})
    short = an_object({"a": {"type": "string", "maxLength": 100}})
    copied = an_object({"a": {"type": "string", "x-verbatim": True}})
    chinese = an_object({"a": {"const": "错" * 300}})
    assert answer_tokens(free, 10) > answer_tokens(short, 10) > LEAST_TOKENS
    assert answer_tokens(copied, 10) < answer_tokens(copied, 100) < answer_tokens(free, 100)
    assert answer_tokens(chinese, 10) > 300
    assert answer_tokens(an_object({"a": {"type": "null"}}), 10) == LEAST_TOKENS


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "object", "patternProperties": {"^x": {}}, "additionalProperties": False},
        Tree.model_json_schema(),
    ],
)
def test_what_has_no_bound_gets_the_most(schema):
    assert answer_tokens(schema, 10) == MOST_TOKENS


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (
            an_object(
                {"a": {"type": ["string", "null"]}, "b": {"type": "array"}, "c": {"type": "null"}},
                required=["a", "b"],
            ),
            {"a": None, "b": []},
        ),
        (an_object({"a": {"type": "string"}}, required=["a"]), {"a": ""}),
        (an_object({"a": {"enum": ["x", None]}}, required=["a"]), {"a": None}),
        (an_object({"a": {"enum": ["x", "y"]}}, required=["a"]), None),
        (an_object({"a": {"type": "integer"}}, required=["a"]), None),
        (an_object({"a": {"type": "string", "minLength": 1}}, required=["a"]), None),
        ({"type": "array", "minItems": 1}, None),
        (Machine.model_json_schema(), None),
    ],
)
def test_the_empty_answer(schema, value):
    assert empty_answer(schema, jsonschema_rs.validator_for(schema)) == value


def test_in_a_merge_the_earlier_wins_gaps_are_filled_and_lists_joined():
    schema = an_object(
        {"tags": {"type": "array", "maxItems": 3}, "all": {"type": "array"}, "in": an_object({})}
    )
    first = {"a": 1, "b": None, "c": "", "tags": ["x", "y"], "all": [{"k": 1}], "in": {"p": None}}
    second = {"a": 2, "b": 3, "c": "z", "tags": ["y", "u", "v"], "all": [{"k": 1}, {"k": 2}]}
    third = {"b": 4, "in": {"p": 5, "q": 6}}
    assert merge([first, second, third], schema) == {
        "a": 1,
        "b": 3,
        "c": "z",
        "tags": ["x", "y", "u"],
        "all": [{"k": 1}, {"k": 2}],
        "in": {"p": 5, "q": 6},
    }


def test_a_merge_does_not_put_null_for_an_empty_text():
    assert merge([{"a": ""}, {}], an_object({"a": {"type": "string"}})) == {"a": ""}


def test_a_merge_follows_references_to_the_bound_of_a_list():
    tags = {"type": "array", "maxItems": 2}
    schema = an_object({"a": {"$ref": "#/$defs/tags"}}, **{"$defs": {"tags": tags}})
    assert merge([{"a": [1, 2]}, {"a": [3]}], schema) == {"a": [1, 2]}


def test_a_window_that_would_break_the_whole_is_left_out():
    cat = an_object({"kind": {"const": "cat"}, "lives": {}}, additionalProperties=False)
    dog = an_object({"kind": {"const": "dog"}, "tricks": {}}, additionalProperties=False)
    schema = {"anyOf": [cat, dog]}
    values = [{"kind": "cat"}, {"kind": "dog", "tricks": 3}, {"kind": "cat", "lives": 9}]
    is_valid = jsonschema_rs.validator_for(schema).is_valid
    assert merge(values, schema, is_valid) == {"kind": "cat", "lives": 9}


COPIED = {"type": ["string", "null"], "x-verbatim": True}


@settings(deadline=None)
@given(st.text(min_size=1), st.data())
def test_a_span_is_where_the_value_stands(text, data):
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    value = {"a": {"b/c~d": [None, text[start:end]]}, "free": "x", "none": None}
    schema = an_object(
        {
            "a": an_object({"b/c~d": {"type": "array", "items": {"$ref": "#/$defs/copied"}}}),
            "free": {"type": "string"},
            "none": COPIED,
        },
        **{"$defs": {"copied": COPIED}},
    )
    spans = spans_of(value, schema, text)
    assert list(spans) == ["/a/b~1c~0d/1"]
    first, last = spans["/a/b~1c~0d/1"]
    assert text[first:last] == text[start:end]
    assert first <= start


def test_a_span_of_the_whole_answer_has_the_pointer_of_the_whole():
    assert spans_of("b", COPIED, "abc") == {"": [1, 2]}


def test_what_is_not_in_the_text_has_no_span():
    assert spans_of({"a": "z"}, an_object({"a": COPIED}), "abc") == {"/a": None}


def test_every_example_can_be_written_as_json():
    assert orjson.dumps(example_of({"enum": []}))


def test_a_merge_names_the_windows_that_lost_something():
    schema = {"type": "array", "maxItems": 2}
    lost: list[int] = []
    assert merge([["a"], ["b"], ["c"]], schema, None, lost) == ["a", "b"]
    assert lost == [3]
    lost.clear()
    assert merge([{"a": None}, {"a": 1}], an_object({"a": {}}), lambda _: False, lost) == {
        "a": None
    }
    assert lost == [2]
