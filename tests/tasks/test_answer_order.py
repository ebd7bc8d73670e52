"""Answers are written in the order of their schema."""

from __future__ import annotations

import json

import pytest

from vedette.tasks.answer_order import in_order

PAIR = {"type": "object", "properties": {"x": {}, "y": {"$ref": "#"}}}


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (PAIR, {"y": 1, "x": 2}, '{"x": 2, "y": 1}'),
        (PAIR, {"z": 0, "y": {"y": 1, "x": 2}}, '{"y": {"x": 2, "y": 1}, "z": 0}'),
        ({"type": "array", "items": PAIR}, [{"y": 1, "x": 2}], '[{"x": 2, "y": 1}]'),
        (
            {
                "properties": {
                    "p": {"anyOf": [{"type": "null"}, {"properties": {"a": {}, "b": {}}}]}
                }
            },
            {"p": {"b": 1, "a": 2}},
            '{"p": {"a": 2, "b": 1}}',
        ),
        (
            {"$ref": "#/$defs/p", "$defs": {"p": {"properties": {"a": {}, "b": {}}}}},
            {"b": None, "a": []},
            '{"a": [], "b": null}',
        ),
        ({"type": "string"}, "x", '"x"'),
    ],
)
def test_properties_stand_as_declared(schema, value, text):
    ordered = in_order(value, schema)
    assert json.dumps(ordered) == text
    assert ordered == value


def test_a_schema_that_contains_itself_ends():
    schema = {"anyOf": [{"$ref": "#"}, {"properties": {"b": {}, "a": {}}}]}
    assert json.dumps(in_order({"a": 1, "b": 2}, schema)) == '{"b": 2, "a": 1}'
