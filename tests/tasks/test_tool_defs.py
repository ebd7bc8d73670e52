"""Tool definitions: what is read, what is refused, and how a model is shown them."""

from __future__ import annotations

import json

import jsonschema_rs
import pytest

from vedette.errors import InputError, SchemaError
from vedette.tasks.tool_defs import call_schema, parse_tools, tools_of

WEATHER = {
    "name": "weather.today",
    "description": "The weather\n  of a place.",
    "parameters": {
        "type": "object",
        "properties": {
            "place": {"type": "string", "description": "A town."},
            "unit": {"enum": ["C", "F"]},
        },
        "required": ["place"],
    },
}


def test_wrapped_and_bare_definitions_mean_the_same():
    assert tools_of([{"type": "function", "function": WEATHER}]) == tools_of([WEATHER])


def test_the_model_is_shown_what_is_optional_and_what_each_argument_is():
    (tool,) = tools_of([WEATHER])
    assert tool.summary == "weather.today(place, unit?): The weather of a place."
    assert tool.manual.splitlines()[1:] == ["  - place: text. A town.", "  - unit: one of C, F"]


@pytest.mark.parametrize("parameters", [None, {}, {"type": "object", "properties": {}}])
def test_a_tool_that_declares_no_arguments_takes_none(parameters):
    (tool,) = tools_of([{"name": "now", "parameters": parameters}])
    validator = jsonschema_rs.validator_for(dict(tool.parameters))
    assert validator.is_valid({})
    assert not validator.is_valid({"a": 1})


def test_a_tool_that_says_it_takes_any_arguments_does():
    (tool,) = tools_of([{"name": "log", "parameters": {"additionalProperties": True}}])
    assert jsonschema_rs.is_valid(dict(tool.parameters), {"a": 1})


def test_references_inside_a_tool_still_mean_that_tool_in_a_list_of_calls():
    def tool(name, kind):
        parameters = {
            "properties": {"a": {"$ref": "#/$defs/x"}},
            "required": ["a"],
            "$defs": {"x": {"type": kind}},
        }
        return {"name": name, "parameters": parameters}

    schema = call_schema(tools_of([tool("n", "integer"), tool("s", "string")]), 2)
    valid = jsonschema_rs.validator_for(schema).is_valid

    def call(name, value):
        return {"name": name, "arguments": {"a": value}}

    assert valid([call("n", 1), call("s", "x")])
    assert not valid([call("n", "x")])
    assert not valid([call("s", 1)])
    assert not valid([])
    assert not valid([call("n", 1)] * 3)


@pytest.mark.parametrize(
    ("definitions", "error", "said"),
    [
        ({"name": "a"}, InputError, "must be a list of definitions, not an object"),
        ([], InputError, "the list of tools is empty"),
        ([3], InputError, "tool 1 must be an object, not a number"),
        ([WEATHER, WEATHER], InputError, "the tool 'weather.today' is there twice"),
        ([{"name": "no spaces"}], InputError, "tool 1 has the name 'no spaces'"),
        ([{"name": "a\n"}], InputError, "tool 1 has the name"),
        ([{"name": "x" * 65}], InputError, "tool 1 has the name"),
        ([{"description": "x"}], InputError, "tool 1 has the name None"),
        ([{"name": "a", "description": 3}], InputError, "tool 'a': the description must be"),
        ([{"name": "a", "strict": "yes"}], InputError, "strict must be true or false"),
        ([{"name": "a", "input_schema": {}}], InputError, "unknown key 'input_schema'"),
        ([{"type": "web_search"}], InputError, "unknown key 'type'"),
        ([{"type": "custom", "function": WEATHER}], InputError, "has the type 'custom'"),
        ([{"type": "function"}], InputError, '"function" must be an object, not null'),
        ([{"type": "function", "function": WEATHER, "x": 1}], InputError, "unknown key 'x'"),
        ([{"name": "a", "parameters": []}], SchemaError, "must be a schema, not a list"),
        (
            [{"name": "a", "parameters": {"type": "array"}}],
            SchemaError,
            "tool 'a': the parameters have the type 'array'",
        ),
        (
            [{"name": "a", "parameters": {"properties": {"b": {"type": "dict"}}}}],
            SchemaError,
            "tool 'a': ",
        ),
        (
            [{"name": "a", "parameters": {"properties": {"b": {"$ref": "http://x/y"}}}}],
            SchemaError,
            "tool 'a': ",
        ),
    ],
)
def test_what_is_wrong_with_a_definition_is_said_with_its_place(definitions, error, said):
    with pytest.raises(error) as caught:
        parse_tools(json.dumps(definitions), "tools.json")
    assert said in caught.value.message


def test_a_file_that_is_no_json_is_named():
    with pytest.raises(InputError, match=r"tools\.json is not JSON: .* \(line 1, column"):
        parse_tools("[{]", "tools.json")
