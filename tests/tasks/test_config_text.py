"""Configuration files: what is written is what the standard library reads, and valid."""

from __future__ import annotations

import configparser
import json
import shlex
import tomllib

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import WordBackend, always, run_by_hand

from vedette.engine.constraint.json_schema import grammar_of_schema
from vedette.errors import (
    CapabilityMissing,
    ConstraintFailed,
    InputError,
    InputTooLong,
    SchemaError,
)
from vedette.tasks.config_format import check, text_of_scalar, write
from vedette.tasks.config_schema import narrowed
from vedette.tasks.config_text import WriteConfig

SERVER = {
    "properties": {
        "host": {"type": "string"},
        "port": {"type": ["integer", "null"], "minimum": 1},
        "log": {
            "properties": {"level": {"enum": ["info", "debug", None]}, "ratio": {"type": "number"}},
            "required": ["level"],
        },
    },
    "required": ["host"],
}
FLAT = {"properties": {"HOST": {"type": "string"}, "DEBUG": {"type": "boolean"}}}
VALUES = {"host": "a b", "port": 80, "log": {"level": "info"}}

text = st.text(st.characters(exclude_categories=["C"]), max_size=12)
scalar = st.one_of(st.booleans(), st.integers(-(2**53), 2**53), st.floats(-1e9, 1e9), text)
trimmed = scalar.map(lambda value: value.strip() if isinstance(value, str) else value)


@given(st.fixed_dictionaries({}, optional={"a": scalar, "b-b": scalar, "C": st.lists(scalar)}))
def test_toml_reads_as_it_was_written(table):
    values = {**table, "sub": dict(table)}
    written = write(values, "toml", "main")
    assert tomllib.loads(written) == values
    check(written, values, "toml", "main")


@given(st.fixed_dictionaries({}, optional={"a": trimmed, "b.b": trimmed, "C": trimmed}))
def test_ini_reads_as_it_was_written_by_a_parser_as_it_comes(table):
    written = write({**table, "sub": dict(table)}, "ini", "own")
    parser = configparser.ConfigParser()
    parser.read_string(written)
    expected = {key.lower(): text_of_scalar(value) for key, value in table.items()}
    assert dict(parser["sub"]) == expected
    assert (dict(parser["own"]) if table else {}) == expected
    check(written, {**table, "sub": dict(table)}, "ini", "own")


@given(st.fixed_dictionaries({}, optional={"A": scalar, "b_2": scalar}))
def test_env_reads_as_it_was_written(table):
    written = write(table, "env", "main")
    pairs = dict(word.split("=", 1) for word in shlex.split(written))
    assert pairs == {key: text_of_scalar(value) for key, value in table.items()}
    check(written, table, "env", "main")


def test_each_format_has_one_line_for_a_key():
    assert write(VALUES, "toml", "main") == 'host = "a b"\nport = 80\n\n[log]\nlevel = "info"\n'
    assert write(VALUES, "ini", "x") == "[x]\nhost = a b\nport = 80\n\n[log]\nlevel = info\n"
    assert write({"A": "it's", "B": True}, "env", "x") == "A='it'\"'\"'s'\nB=true\n"


@pytest.mark.parametrize("value", ["two\nlines", " space", "space ", "\ttab"])
def test_what_would_read_otherwise_is_an_error(value):
    values = {"a": value}
    with pytest.raises(ConstraintFailed):
        check(write(values, "ini", "main"), values, "ini", "main")


@pytest.mark.parametrize("form", ["ini", "toml"])
def test_the_answer_has_the_values_and_the_text(form):
    task = WriteConfig(SERVER, form)
    answer, (asks,) = run_by_hand(task, "a server", always(VALUES))
    assert answer.value["values"] == VALUES
    check(answer.value["text"], VALUES, form, "main")
    assert not asks[0].constraint.options.strict


@pytest.mark.parametrize("form", ["ini", "toml"])
@pytest.mark.parametrize(
    ("values", "is_allowed"),
    [
        (VALUES, True),
        ({"host": "x"}, True),
        ({}, False),
        ({"host": None}, False),
        ({"host": "x", "port": None}, False),
        ({"host": "x", "port": 0}, False),
        ({"host": "x", "log": {"level": None}}, False),
        ({"host": "x", "log": {}}, False),
        ({"host": "x", "other": 1}, False),
    ],
)
def test_what_is_narrowed_is_valid_and_never_null(form, values, is_allowed):
    schema = narrowed(SERVER, form, "main")
    assert jsonschema_rs.is_valid(schema, values) == is_allowed
    assert not is_allowed or jsonschema_rs.is_valid(SERVER, values)
    grammar_of_schema(json.dumps(schema))


@pytest.mark.parametrize(
    ("form", "value", "is_allowed"),
    [
        ("ini", "a b", True),
        ("ini", "", True),
        ("ini", "a\nb", False),
        ("ini", " a", False),
        ("ini", "a ", False),
        ("env", " a ", True),
        ("env", "a\nb", False),
        ("toml", " a\nb", True),
    ],
)
def test_texts_are_narrowed_to_what_the_format_can_hold(form, value, is_allowed):
    schema = narrowed({"properties": {"a": {"type": "string"}}}, form, "main")
    assert jsonschema_rs.is_valid(schema, {"a": value}) == is_allowed


def test_a_typed_models_optional_field_may_be_left_out_but_is_not_null():
    optional = {"anyOf": [{"$ref": "#/$defs/port"}, {"type": "null"}]}
    schema = {"properties": {"port": optional}, "$defs": {"port": {"type": "integer"}}}
    valid = jsonschema_rs.validator_for(narrowed(schema, "toml", "main")).is_valid
    assert [valid({"port": 1}), valid({}), valid({"port": None})] == [True, True, False]


def prop(**schema):
    return {"properties": {"a": schema}}


TABLE = {"properties": {"b": {"type": "string"}}}


@pytest.mark.parametrize(
    ("schema", "form", "said"),
    [
        ({"type": "array"}, "toml", "must be an object with properties"),
        ({**FLAT, "additionalProperties": True}, "env", "has 'additionalProperties'"),
        ({**FLAT, "anyOf": [{}]}, "env", "has 'anyOf'"),
        ({"properties": {"a b": {"type": "string"}}}, "toml", "'a b' cannot be a key of toml"),
        ({"properties": {"a-b": {"type": "string"}}}, "env", "'a-b' cannot be a key of env"),
        (prop(), "toml", "/a has the type any"),
        (prop(type="null"), "toml", "/a has the type null"),
        (prop(type="array", items={"type": "string"}), "ini", "/a has the type array"),
        (prop(type="array"), "toml", "/a is a list; say in items"),
        (prop(type="array", items=TABLE), "toml", "/a/items has the type any"),
        (prop(anyOf=[{"type": "string"}, {"type": "integer"}]), "toml", "/a has 'anyOf'"),
        (prop(enum=[None]), "toml", "/a may only be null"),
        (prop(enum=["x", {}]), "toml", "/a has the value {}"),
        (prop(enum=["x\ny"]), "ini", "which ini cannot hold"),
        (prop(**TABLE), "env", "/a is a table; an env file has keys only"),
        (prop(properties={"b": TABLE}), "toml", "/a/b is a table inside a table"),
        ({"properties": {"a": {"type": "string"}, "A": {"type": "string"}}}, "ini", "twice"),
        ({"properties": {"Default": TABLE}}, "ini", "DEFAULT"),
        ({"properties": {"main": TABLE, "x": {"type": "string"}}}, "ini", "a table 'main'"),
    ],
)
def test_what_a_format_cannot_hold_is_refused_with_its_place(schema, form, said):
    with pytest.raises(SchemaError) as caught:
        WriteConfig(schema, form)
    assert said in caught.value.message


@pytest.mark.parametrize(
    "options",
    [
        {"form": "yaml"},
        {"form": "ini", "section": "a]"},
        {"form": "ini", "section": "DEFAULT"},
        {"form": "toml", "section": "x"},
        {"form": "env", "max_tokens": 0},
    ],
)
def test_options_that_cannot_be_are_refused(options):
    form = options.pop("form")
    with pytest.raises(InputError):
        WriteConfig(FLAT, form, **options)


def test_a_reply_that_does_not_fit_is_never_passed_on():
    for reply in ({}, {"host": 3}, [], "{"):
        with pytest.raises(ConstraintFailed):
            run_by_hand(WriteConfig(SERVER, "ini"), "x", always(reply))
    task = WriteConfig(FLAT, "env")
    assert run_by_hand(task, " ", always({}))[0].value is None
    with pytest.raises(InputTooLong):
        run_by_hand(task, "word " * 5000, always({}))
    with pytest.raises(CapabilityMissing):
        run_by_hand(task, "x", always({}), WordBackend(can_constrain=False))
