"""What is compiled, what is refused and in which words, and what is narrowed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema_rs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vedette.engine.constraint import Compiler, Matcher
from vedette.engine.constraint.bounds import Bounds
from vedette.engine.constraint.matcher import MaskTable
from vedette.engine.llama.model import Model
from vedette.errors import ConstraintFailed, InputError, LabelError, SchemaError
from vedette.types import Constraint, SchemaOptions

MAX_TOKENS = 3000


class Machine:
    """A compiler, and random texts under what it compiles."""

    def __init__(self, path: Path) -> None:
        self.model = Model(path)
        self.compiler = Compiler(self.model)
        self._masks = MaskTable(1, self.model.n_vocab)

    def matcher(self, kind: Any, source: object, text: str = "") -> Matcher:
        raw = source if isinstance(source, str) else json.dumps(source)
        return self.compiler.matcher(Constraint(kind, raw, text))

    def random_text(self, matcher: Matcher, chance: np.random.Generator) -> str:
        """Any of the texts that are allowed: forced tokens, else one at random, to the end."""
        raw = b""
        for _ in range(MAX_TOKENS):
            tokens = matcher.forced()
            if not tokens:
                (mask,) = self._masks.fill([matcher])
                matcher.check()
                bits = np.unpackbits(mask.view(np.uint8), bitorder="little")
                tokens = [int(chance.choice(np.flatnonzero(bits[: self.model.n_vocab])))]
            for token in tokens:
                if token in self.model.eog_tokens:
                    return raw.decode()
                matcher.accept(token)
                raw += self.model.piece(token)
            if matcher.must_end:
                return raw.decode()
        raise AssertionError(f"no end in sight: {raw[:200]!r}")

    def accepts(self, matcher: Matcher, text: str) -> bool:
        try:
            for token in self.model.tokenize(text):
                matcher.accept(token)
        except ConstraintFailed:
            return False
        return matcher.may_end


@pytest.fixture(scope="module")
def machine(tiny_full: Path) -> Iterator[Machine]:
    machine = Machine(tiny_full)
    yield machine
    machine.model.close()


def an_object(required: int = 100, **properties: object) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties)[:required],
    }


VERBATIM = {"type": ["string", "null"], "x-verbatim": True}
NUMBER = {"type": "integer"}


# Refusals


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("{nope", r"not JSON: .*line 1, column 2"),
        ("[1]", "must be a JSON object, this is list"),
        ({"type": "strin"}, "type: this is not a JSON Schema"),
        (an_object(a={"minLength": -1}), "at /properties/a: minLength"),
        ({"type": "array", "minItems": 3, "maxItems": 2}, "nothing can be valid"),
        ({"$ref": "https://example.org/s.json"}, "at the root: \\$ref"),
        ({"type": "string", "pattern": "(a"}, "not a regular expression"),
    ],
)
def test_a_schema_that_cannot_be_enforced_is_refused_with_the_reason(
    machine: Machine, source: object, what: str
) -> None:
    with pytest.raises(SchemaError, match=what):
        machine.matcher("json_schema", source)


@pytest.mark.parametrize(
    ("kind", "source", "error", "what"),
    [
        ("choice", '["a", "a"]', LabelError, "distinct"),
        ("choice", "[]", LabelError, "at least one"),
        ("choice", '[""]', LabelError, "non-empty"),
        ("choice", "a, b", LabelError, "not a JSON array"),
        ("choice", '["a", 1]', LabelError, "array of strings"),
        ("choice", '{"a": 1}', LabelError, "array of strings"),
        ("regex", "[a-z", InputError, "this regex cannot be enforced"),
        ("lark", "start: missing", InputError, "this lark cannot be enforced"),
    ],
)
def test_other_constraints_are_refused_with_the_reason(
    machine: Machine, kind: str, source: str, error: type[Exception], what: str
) -> None:
    with pytest.raises(error, match=what):
        machine.matcher(kind, source)


@pytest.mark.parametrize(
    ("schema", "text", "what"),
    [
        (an_object(v={"type": "string", "x-verbatim": True}), "", "which is empty"),
        (
            an_object(v={"type": "string", "x-verbatim": True, "maxLength": 3}),
            "word",
            "no word of at most 3 characters",
        ),
        (an_object(v={"type": "integer", "x-verbatim": True}), "x", "goes with type string"),
        (an_object(v={**VERBATIM, "pattern": "a"}), "x", "combined with pattern"),
        (an_object(v={**VERBATIM, "minLength": 5}), "x", "combined with minLength"),
        (an_object(v={**VERBATIM, "x-verbatim": "yes"}), "x", "must be true or false"),
        ({"type": "array", "prefixItems": [VERBATIM]}, "x", "prefixItems cannot be enforced above"),
    ],
)
def test_verbatim_where_it_cannot_be_enforced_is_refused(
    machine: Machine, schema: object, text: str, what: str
) -> None:
    with pytest.raises(SchemaError, match=what):
        machine.matcher("json_schema", schema, text)


REFERRED = {"$defs": {"v": VERBATIM}, **an_object(a={"$ref": "#/$defs/v"}, b={"$ref": "#/$defs/v"})}
TREE = {
    "$ref": "#/$defs/t",
    "$defs": {"t": an_object(1, v=VERBATIM, t={"type": "array", "items": {"$ref": "#/$defs/t"}})},
}


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        ({"anyOf": [VERBATIM]}, '"two words"', '"two other"'),
        (an_object(v={"anyOf": [VERBATIM, {"type": "null"}]}), '{"v": "two"}', '{"v": "wo"}'),
        ({"$ref": "#/$defs/v", "$defs": {"v": VERBATIM}}, '"words"', '"word"'),
        (REFERRED, '{"a": "two", "b": null}', '{"a": "two", "b": "tw"}'),
        ({"anyOf": [an_object(v=VERBATIM), an_object(w=NUMBER)]}, '{"v": "two"}', '{"v": "tw"}'),
        (TREE, '{"v": "two", "t": [{"v": "words"}]}', '{"v": "two", "t": [{"v": "w"}]}'),
    ],
)
def test_verbatim_fields_are_found_behind_references_and_beside_null(
    machine: Machine, schema: object, right: str, wrong: str
) -> None:
    assert machine.accepts(machine.matcher("json_schema", schema, "two words"), right)
    assert not machine.accepts(machine.matcher("json_schema", schema, "two words"), wrong)


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        ({"type": "array", "uniqueItems": True}, "[1, 2]", "[1, 1]"),
        ({"type": "string", "pattern": '^[^"]*$'}, '"a"', '"\\""'),
        ({"type": "number", "exclusiveMinimum": 1, "maximum": 1.5}, "1.5", "1"),
        ({"type": "object", "additionalProperties": NUMBER}, '{"a": 1}', '{"a": 1, "a": 2}'),
    ],
)
def test_what_the_grammar_lets_through_is_held_against_the_schema(
    machine: Machine, schema: object, right: str, wrong: str
) -> None:
    matcher = machine.matcher("json_schema", schema)
    assert matcher.fault_of(right) is None
    assert matcher.fault_of(wrong) is not None


@pytest.mark.parametrize("n", [1000, 3000])
def test_a_chain_that_would_end_the_process_is_compiled_or_refused(
    machine: Machine, n: int
) -> None:
    rules = "\n".join(f"r{i}: r{i + 1}" for i in range(n))
    matcher = machine.matcher("lark", f'start: r0\n{rules}\nr{n}: "a"\n')
    assert machine.accepts(matcher, "a")
    chain: dict[str, Any] = {
        f"d{i}": an_object(1, a={"$ref": f"#/$defs/d{i + 1}"}) for i in range(n)
    }
    schema = {"$ref": "#/$defs/d0", "$defs": {**chain, f"d{n}": {"type": "null"}}}
    with suppress(SchemaError):
        machine.matcher("json_schema", schema)


def test_a_grammar_without_end_in_size_is_refused(machine: Machine) -> None:
    with pytest.raises(InputError, match="1,000,000 bytes"):
        machine.matcher("regex", "a" * 1_000_001)


def test_gbnf_is_read_as_llama_cpp_reads_it(machine: Machine) -> None:
    source = 'root ::= [a-c]+ "." | "\\u0041"'
    assert machine.accepts(machine.matcher("gbnf", source), "abc.")
    assert machine.accepts(machine.matcher("gbnf", source), "A")
    assert not machine.accepts(machine.matcher("gbnf", source), "abc")
    with pytest.raises(InputError, match="line 1, column"):
        machine.matcher("gbnf", 'root ::= "a')


def test_an_input_that_is_no_unicode_is_refused(machine: Machine) -> None:
    with pytest.raises(InputError, match="not valid Unicode"):
        machine.matcher("json_schema", an_object(v=VERBATIM), "a\ud800b")


# Narrowing


def bounded(schema: dict[str, Any], **options: Any) -> dict[str, Any]:
    narrow: dict[str, Any] = Bounds(SchemaOptions(**options)).narrowed(schema)
    return narrow


def test_strings_arrays_and_objects_are_bounded_throughout() -> None:
    schema = an_object(
        a={"type": "string"},
        b={"type": ["array", "null"], "items": {"type": "string", "minLength": 300}},
        c={"anyOf": [an_object(d={"type": "string"}), {"type": "null"}]},
        e={"type": ["integer", "null"]},
        f={"type": "integer", "minimum": 3},
    )
    narrow = bounded(schema)
    assert narrow["properties"]["e"]["maximum"] == 2**53 - 1
    assert narrow["properties"]["f"] == {"type": "integer", "minimum": 3, "maximum": 2**53 - 1}
    assert narrow["additionalProperties"] is False
    assert narrow["properties"]["a"]["maxLength"] == 256
    assert narrow["properties"]["b"]["maxItems"] == 64
    assert narrow["properties"]["b"]["items"]["maxLength"] == 300
    inner = narrow["properties"]["c"]["anyOf"][0]
    assert inner["additionalProperties"] is False
    assert inner["properties"]["d"]["maxLength"] == 256
    assert "maxLength" not in schema["properties"]["a"]  # the caller's own is left alone


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "maxLength": 1000},
        {"type": "string", "enum": ["a"]},
        {"type": "string", "pattern": "^a{300}$"},
        {"type": "array", "maxItems": 1000},
        {
            "type": "object",
            "properties": {},
            "additionalProperties": {"type": "integer", "minimum": 0, "maximum": 9},
        },
        {"type": "object", "properties": {"a": False}},
        {**an_object(0, a={"type": "null"}), "minProperties": 2},
    ],
)
def test_what_the_author_bounded_is_left_alone(schema: dict[str, object]) -> None:
    assert bounded(schema) == schema


def test_the_bounds_are_the_caller_s_to_set_and_are_told() -> None:
    schema = an_object(a={"type": "string"}, b={"type": "array", "items": {"type": "null"}})
    bounds = Bounds(SchemaOptions(max_string_chars=9, max_array_items=3, closed=False))
    narrow = bounds.narrowed(schema)
    assert narrow["properties"]["a"]["maxLength"] == 9
    assert narrow["properties"]["b"]["maxItems"] == 3
    assert "additionalProperties" not in narrow
    assert bounds.applied == (
        "strings without maxLength end after 9 characters",
        "arrays without maxItems end after 3 items",
    )


def test_a_pattern_is_bounded_where_it_has_room() -> None:
    assert bounded({"type": "string", "pattern": "^a+$"})["maxLength"] == 256


ORDERED = an_object(
    2, a=NUMBER, b={"type": ["object", "null"], **an_object(c=NUMBER, d=NUMBER)}, e=VERBATIM
)
ORDERED["properties"]["b"]["type"] = ["object", "null"]


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ('{"a": 1, "b": null}', True),
        ('{"b": {"d": 1, "c": 2}, "e": "two", "a": 1}', True),
        ('{"e": null, "b": {"c": 2, "d": 1}, "a": 1}', True),
        ('{"a": 1}', False),
        ('{"a": 1, "b": null, "a": 2}', False),
        ('{"a": 1, "b": {"d": 1}}', False),
        ('{"a": 1, "b": null, "e": "three"}', False),
        ('{"a": 1, "b": null, "f": 1}', False),
    ],
)
def test_properties_in_any_order_come_once_each_the_required_ones_all(
    machine: Machine, text: str, right: bool
) -> None:
    options = SchemaOptions(order="any")
    constraint = Constraint("json_schema", json.dumps(ORDERED), "one two", options)
    assert machine.accepts(machine.compiler.matcher(constraint), text) == right


def test_an_object_described_in_several_places_can_still_be_met(machine: Machine) -> None:
    every = {"allOf": [an_object(a=NUMBER), an_object(b=NUMBER)]}
    assert machine.accepts(machine.matcher("json_schema", every), '{"a": 1, "b": 2}')
    beside = {**an_object(a=NUMBER), "anyOf": [an_object(b=NUMBER), an_object(c=NUMBER)]}
    assert machine.accepts(machine.matcher("json_schema", beside), '{"a": 1, "c": 2}')


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32))
def test_every_text_under_a_schema_is_valid_against_it(machine: Machine, seed: int) -> None:
    schema = an_object(
        2,
        level={"enum": ["INFO", "WARN", None]},
        parts={"type": "array", "items": {"type": "number", "maximum": 50}, "maxItems": 3},
        name={"type": "string", "maxLength": 12},
        more={"anyOf": [an_object(0, ok={"type": "boolean"}), {"type": "null"}]},
    )
    text = machine.random_text(machine.matcher("json_schema", schema), np.random.default_rng(seed))
    value = json.loads(text)
    jsonschema_rs.validate(schema, value)
    assert value.keys() <= schema["properties"].keys()


# Choices, expressions, grammars


@settings(deadline=None, max_examples=30)
@given(
    choices=st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=6, unique=True),
    seed=st.integers(0, 2**32),
)
def test_a_choice_is_one_of_the_choices_whatever_stands_in_them(
    machine: Machine, choices: list[str], seed: int
) -> None:
    matcher = machine.matcher("choice", choices)
    assert machine.random_text(matcher, np.random.default_rng(seed)) in choices
    assert all(machine.accepts(machine.matcher("choice", choices), c) for c in choices)


def test_regex_and_lark_give_what_they_say(machine: Machine) -> None:
    chance = np.random.default_rng(0)
    for _ in range(5):
        text = machine.random_text(machine.matcher("regex", "[a-c]{3}-[0-9]{2}"), chance)
        assert len(text) == 6
        assert text[3] == "-"
        grammar = 'start: "<" word ">"\nword: /[xy]{2}/'
        assert machine.random_text(machine.matcher("lark", grammar), chance)[1:-1] in (
            *("xx", "xy", "yx", "yy"),
        )


def test_a_matcher_is_its_caller_s_own(machine: Machine) -> None:
    first, second = machine.matcher("regex", "ab"), machine.matcher("regex", "ab")
    (token,) = machine.model.tokenize("a")
    first.accept(token)
    with pytest.raises(ConstraintFailed):
        first.accept(token)
    assert machine.accepts(second, "ab")


def test_a_token_that_is_not_allowed_is_a_failure_for_good(machine: Machine) -> None:
    matcher = machine.matcher("regex", "ab")
    (wrong,) = machine.model.tokenize("z")
    with pytest.raises(ConstraintFailed, match="gave up"):
        matcher.accept(wrong)
    for again in (matcher.forced, matcher.check, lambda: matcher.must_end):
        with pytest.raises(ConstraintFailed):
            again()


# Verbatim

AWKWARD = '"\\/\n\r\t\x00\x1f\x7f\u2028 .,;:-_{}[]志服务错误ё😀👩\u200d🦰e\u0301ß0a1b'
awkward = st.text(
    alphabet=st.one_of(
        st.sampled_from(AWKWARD),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=40,
)


@settings(deadline=None, max_examples=150)
@given(text=awkward, seed=st.integers(0, 2**32))
def test_a_verbatim_value_is_a_span_of_the_input_or_null(
    machine: Machine, text: str, seed: int
) -> None:
    schema = an_object(v=VERBATIM, n=NUMBER, w={**VERBATIM, "maxLength": 5})
    schema["properties"]["n"] = {"enum": [1, 2]}
    matcher = machine.matcher("json_schema", schema, text)
    value = json.loads(machine.random_text(matcher, np.random.default_rng(seed)))
    jsonschema_rs.validate(schema, value)
    assert value["v"] is None or (value["v"] and value["v"] in text)
    assert value["w"] is None or (value["w"] in text and 0 < len(value["w"]) <= 5)


@settings(deadline=None, max_examples=60)
@given(text=awkward.filter(bool), seed=st.integers(0, 2**32))
def test_verbatim_inside_arrays_of_objects_with_optional_properties(
    machine: Machine, text: str, seed: int
) -> None:
    item = an_object(0, name={"type": "string", "x-verbatim": True}, kind={"enum": ["a", "b"]})
    item["required"] = ["kind"]
    schema = an_object(
        1,
        items={"type": "array", "items": item, "minItems": 1, "maxItems": 3},
        note=VERBATIM,
    )
    matcher = machine.matcher("json_schema", schema, text)
    value = json.loads(machine.random_text(matcher, np.random.default_rng(seed)))
    jsonschema_rs.validate(schema, value)
    for entry in value["items"]:
        assert entry.get("name", text) in text
    assert value.get("note") is None or value["note"] in text


@pytest.mark.parametrize(
    "text", ["hello wörld", 'say "no" \\ twice', "服务错误", "a\nb\tc", "\x01!"]
)
def test_the_whole_input_and_each_word_can_be_the_value(machine: Machine, text: str) -> None:
    for span in (text, *text.split()):
        answer = json.dumps({"v": span}, ensure_ascii=False)
        assert machine.accepts(machine.matcher("json_schema", an_object(v=VERBATIM), text), answer)
    half = json.dumps({"v": "hello wör"}, ensure_ascii=False)
    assert not machine.accepts(machine.matcher("json_schema", an_object(v=VERBATIM), text), half)


def test_an_empty_input_leaves_null_as_the_only_value(machine: Machine) -> None:
    matcher = machine.matcher("json_schema", an_object(v=VERBATIM), "")
    text = machine.random_text(matcher, np.random.default_rng(0))
    assert text == '{"v": null}'


@pytest.mark.parametrize("present", range(8))
def test_each_set_of_optional_properties_is_allowed(machine: Machine, present: int) -> None:
    schema = an_object(0, a=VERBATIM, b={"enum": [1]}, c=VERBATIM)
    value = {
        name: held
        for bit, (name, held) in enumerate({"a": "x", "b": 1, "c": None}.items())
        if present >> bit & 1
    }
    answer = json.dumps(value)
    assert machine.accepts(machine.matcher("json_schema", schema, "x y"), answer)


@pytest.mark.parametrize(("low", "high"), [(0, 0), (0, 1), (1, 1), (2, 3), (0, 2)])
def test_verbatim_arrays_keep_their_bounds(machine: Machine, low: int, high: int) -> None:
    schema = {"type": "array", "items": VERBATIM, "minItems": low, "maxItems": high}
    for n in range(5):
        answer = json.dumps(["x"] * n)
        matcher = machine.matcher("json_schema", schema, "x y")
        assert machine.accepts(matcher, answer) == (low <= n <= high)
