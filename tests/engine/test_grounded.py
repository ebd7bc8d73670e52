"""Fields that the input must bear out: what may be said follows from the text."""

from __future__ import annotations

import orjson
import pytest
from llguidance import LLMatcher

from vedette.engine.constraint.grounded import MAX_CANDIDATES, ground, has_grounding
from vedette.engine.constraint.json_schema import grammar_of_schema, schema_report
from vedette.errors import SchemaError

LEVEL = {
    "enum": ["WARN", "ERROR", "OTHER", None],
    "x-evidence": {"WARN": r"(?i)\bwarn", "ERROR": r"(?i)\berr"},
}
HOST = {"type": ["string", "null"], "x-one-of-input": r"host=(\w+)"}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Warning: it broke", ["WARN", "OTHER", None]),
        ("an ERROR after a warning", ["WARN", "ERROR", "OTHER", None]),
        ("forewarned", ["OTHER", None]),
        ("", ["OTHER", None]),
    ],
)
def test_evidence_narrows_to_what_the_text_shows(text, left):
    assert ground(LEVEL, text) == {"enum": left}


def test_null_is_forced_where_no_value_has_its_evidence():
    schema = {"enum": ["A", None], "x-evidence": {"A": "a"}}
    assert ground(schema, "b")["enum"] == [None]


def test_without_null_the_lack_of_evidence_is_an_error():
    with pytest.raises(SchemaError, match="no null") as caught:
        ground({"enum": ["A"], "x-evidence": {"A": "a"}}, "b")
    assert caught.value.hint


def test_candidates_are_the_first_group_once_each_in_order():
    text = "host=b host=a host=b guest=c"
    assert ground(HOST, text) == {"type": ["string", "null"], "enum": ["b", "a", None]}
    whole = {"type": "string", "x-one-of-input": r"\w+="}
    assert ground(whole, text) == {"type": "string", "enum": ["host=", "guest="]}


def test_a_group_that_took_no_part_or_is_empty_gives_no_candidate():
    assert ground({**HOST, "x-one-of-input": "(a)|b"}, "b a")["enum"] == ["a", None]
    assert ground({**HOST, "x-one-of-input": "x*"}, "axb")["enum"] == ["x", None]


def test_candidates_keep_to_the_length_of_the_field():
    schema = {**HOST, "x-one-of-input": r"\w+", "minLength": 2, "maxLength": 3}
    assert ground(schema, "a bb ccc dddd") == {
        "type": ["string", "null"],
        "enum": ["bb", "ccc", None],
    }


def test_only_so_many_candidates_are_taken():
    text = " ".join(f"n{i}" for i in range(MAX_CANDIDATES + 50))
    values = ground({**HOST, "x-one-of-input": r"\w+"}, text)["enum"]
    assert values == [*(f"n{i}" for i in range(MAX_CANDIDATES)), None]


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "string", "x-one-of-input": "z"}, "nothing in the input qualifies"),
        ({"type": "string", "x-one-of-input": "("}, "is not a regular expression"),
        ({"type": "string", "x-one-of-input": 3}, "is a pattern on type string"),
        ({"type": "integer", "x-one-of-input": "z"}, "is a pattern on type string"),
        ({"enum": ["a"], "x-one-of-input": "a"}, "cannot be combined with enum"),
        ({"x-verbatim": True, "x-one-of-input": "a"}, "cannot be combined with x-verbatim"),
        ({"anyOf": [{"type": "string"}], "x-one-of-input": "a"}, "cannot be combined with anyOf"),
        ({"type": "string", "x-evidence": {"a": "a"}}, "goes with an enum"),
        ({"enum": ["a"], "x-evidence": ["a"]}, "goes with an enum"),
        ({"enum": ["a"], "x-evidence": {"a": 3}}, "a pattern that is no text"),
        ({"enum": ["a"], "x-evidence": {"a": "["}}, "is not a regular expression"),
        ({"enum": ["a"], "x-evidence": {"b": "a"}}, "names 'b', which is not in the enum"),
    ],
)
def test_grounding_that_makes_no_sense_is_refused_and_never_skipped(schema, said):
    nested = {"type": "object", "properties": {"f": schema}}
    assert has_grounding(nested)
    with pytest.raises(SchemaError, match=said):
        ground(nested, "abc")


def test_grounded_fields_are_found_wherever_a_schema_can_stand():
    places = [
        {"type": "object", "properties": {"f": HOST}},
        {"type": "array", "items": HOST},
        {"type": "array", "prefixItems": [HOST]},
        {"anyOf": [{"type": "integer"}, HOST]},
        {"$defs": {"h": HOST}, "$ref": "#/$defs/h"},
    ]
    for schema in places:
        assert has_grounding(schema)
        assert not has_grounding(ground(schema, "host=a"))
        assert b'"a"' in orjson.dumps(ground(schema, "host=a"))


def test_a_property_may_be_named_like_a_keyword():
    named = {name: {"type": "string"} for name in ("x-evidence", "x-one-of-input", "properties")}
    schema = {"type": "object", "properties": named}
    assert not has_grounding(schema)
    assert ground(schema, "abc") == schema
    schema = {"type": "object", "properties": {**named, "x-evidence": HOST, "enum": HOST}}
    assert has_grounding(schema)
    found = ground(schema, "host=a")["properties"]
    assert found["x-evidence"]["enum"] == found["enum"]["enum"] == ["a", None]


def test_data_in_a_schema_is_not_read_as_schema():
    data = {"x-one-of-input": "("}
    schema = {"const": data, "enum": [data], "default": data, "examples": [data]}
    assert not has_grounding(schema)
    assert ground({"properties": {"a": schema, "b": HOST}}, "")["properties"]["a"] == schema


def test_the_schema_as_given_is_not_changed():
    schema = {"type": "object", "properties": {"level": dict(LEVEL), "host": dict(HOST)}}
    before = orjson.dumps(schema)
    ground(schema, "host=a warn")
    assert orjson.dumps(schema) == before


def test_grounded_and_verbatim_fields_go_together_in_one_grammar():
    schema = {
        "type": "object",
        "properties": {
            "level": LEVEL,
            "host": HOST,
            "message": {"type": ["string", "null"], "x-verbatim": True},
        },
        "required": ["level", "host", "message"],
    }
    grammar = grammar_of_schema(orjson.dumps(schema).decode(), "WARN host=alpha is down").text
    assert not LLMatcher.validate_grammar(grammar)
    assert "alpha" in grammar
    assert "ERROR" not in grammar


def test_what_the_input_must_bear_out_is_in_the_report_and_notes_are_not():
    fields = {
        "level": {"enum": ["a", "b"], "x-evidence": {"a": "A"}},
        "service": {"type": "string", "x-one-of-input": "[a-z]+"},
        "message": {"type": "string", "x-verbatim": True, "x-label": "Message"},
    }
    report = schema_report({"properties": fields})
    entries = [(e.pointer, e.verdict) for e in report.keywords if e.keyword.startswith("x-")]
    assert entries == [(f"/properties/{name}", "enforced") for name in fields]
    assert report.unknown == ()
