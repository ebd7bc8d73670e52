"""Constraints as servers take them, and texts held to constraints without a model."""

from __future__ import annotations

import pytest

from vedette.backends.answer_form import anchored, form_of
from vedette.backends.openai_strict import is_strict
from vedette.engine.constraint.checker import Checker
from vedette.errors import CapabilityMissing
from vedette.types import Constraint

NAME = '{"type":"object","properties":{"n":{"type":"string","maxLength":3}},"required":["n"]}'
FROM_INPUT = '{"type":"object","properties":{"n":{"type":"string","x-one-of-input":"[0-9]+"}}}'


@pytest.fixture(scope="module")
def checker() -> Checker:
    return Checker()


# --- held to a constraint --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "source", "good", "bad"),
    [
        ("json_schema", NAME, '{"n": "日志x"}', '{"n": "long"}'),
        ("json_schema", NAME, '{\n "n":"a"}', '{"n": "a", "n": "b"}'),
        ("json_schema", NAME, '{"n": ""}', '{"n": "a"'),
        ("choice", '["a b", "一"]', "一", "一 "),
        ("regex", r"\d{2}(x|y)?", "07y", "07yy"),
        ("regex", r"\d{2}(x|y)?", "07", "0"),
        ("gbnf", 'root ::= "ä" [0-9]+', "ä7", "a7"),
        ("lark", 'start: "a"+', "aaa", ""),
    ],
)
def test_a_text_is_held_to_its_constraint(checker, kind, source, good, bad):
    constraint = Constraint(kind, source)
    assert checker.fault_of(constraint, good) is None
    assert str(checker.fault_of(constraint, bad))


def test_a_fault_says_where_the_text_leaves_the_constraint(checker):
    fault = checker.fault_of(Constraint("regex", "ab+c"), "abbx")
    assert "after 'abb'" in str(fault)
    fault = checker.fault_of(Constraint("json_schema", NAME), '{"n": 3}')
    assert "/n" in str(fault)


def test_what_the_input_must_bear_out_is_checked_too(checker):
    constraint = Constraint("json_schema", FROM_INPUT, "port 8080")
    assert checker.fault_of(constraint, '{"n": "8080"}') is None
    assert checker.fault_of(constraint, '{"n": "80"}') is not None


def test_a_grammar_that_names_a_token_is_for_the_engine_only(checker):
    with pytest.raises(CapabilityMissing, match="<think>"):
        checker.prepare(Constraint("gbnf", "root ::= <think> [a-z]+"))


# --- as it is sent ---------------------------------------------------------------------------


def test_what_is_no_object_is_wrapped_in_one_and_found_in_it_again(checker):
    form = form_of(Constraint("json_schema", '{"type":"array","items":{"enum":[1]}}'), checker)
    assert form.wrapped["required"] == ["answer"]
    assert form.read('{"answer": [1, 1]}', is_wrapped=True) == ("[1, 1]", None)
    assert form.read("[1]", is_wrapped=True) == ("[1]", None)


def test_definitions_stay_where_references_look_for_them(checker):
    tree = (
        '{"$defs":{"n":{"type":"array","items":{"$ref":"#/$defs/n"},"maxItems":2}},'
        '"$ref":"#/$defs/n"}'
    )
    wrapped = form_of(Constraint("json_schema", tree), checker).wrapped
    assert "n" in wrapped["$defs"]
    assert "$defs" not in wrapped["properties"]["answer"]


def test_an_object_with_the_wrappers_own_name_is_not_taken_apart(checker):
    source = '{"type":"object","properties":{"answer":{"enum":[1]}},"required":["answer"]}'
    form = form_of(Constraint("json_schema", source), checker)
    assert form.read('{"answer": 1}', is_wrapped=True) == ('{"answer": 1}', None)


def test_a_wrong_answer_is_given_back_with_its_fault(checker):
    text, fault = form_of(Constraint("choice", '["a","b"]'), checker).read("c", is_wrapped=True)
    assert text == "c"
    assert fault is not None


@pytest.mark.parametrize(
    ("pattern", "sent"),
    [
        ("^ab+$", "^ab+$"),
        ("ab", r'^[^"\\]*(ab)[^"\\]*$'),
        ("^ab", r'^(ab)[^"\\]*$'),
        ("ab$", r'^[^"\\]*(ab)$'),
        (r"ab\$", r'^[^"\\]*(ab\$)[^"\\]*$'),
        ("^a|b", None),
        ("^(?:a|b)$", "^(?:a|b)$"),
        (r"^[$^|]\^$", r"^[$^|]\^$"),
        ("(?i)^a$", None),
        ("^a(?=b)", None),
    ],
)
def test_a_pattern_is_sent_from_end_to_end_or_only_checked(pattern, sent):
    schema = {"type": "object", "properties": {"pattern": {"type": "string", "pattern": pattern}}}
    found = anchored(schema)["properties"]["pattern"]
    assert found.get("pattern") == sent
    assert found["type"] == "string"


def test_values_are_no_schemas(checker):
    schema = {"enum": [{"pattern": "a"}]}
    assert anchored(schema) == schema


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "object", "properties": {}, "additionalProperties": False}, True),
        ({"type": "object"}, False),
        ({"type": "array", "items": {"type": "string"}}, False),
        (
            {
                "type": "object",
                "properties": {"a": {"anyOf": [{"type": "object"}, {"type": "null"}]}},
                "required": ["a"],
                "additionalProperties": False,
            },
            False,
        ),
    ],
)
def test_strict_mode_is_asked_for_only_where_it_can_be_had(schema, expected):
    assert is_strict(schema) is expected
