"""What is lowered means the same as before, and nothing invalid gets through."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import combinations, product
from random import Random
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vedette.engine.constraint.schema import SchemaMatcher, SchemaRefused, analyse
from vedette.engine.constraint.schema import patterns as expressions
from vedette.engine.constraint.schema.grammar import ByteGrammar
from vedette.engine.constraint.schema.values import spelled

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
FEW = settings(deadline=None, max_examples=40)

# Values that are small and collide often, so that keywords meet what they are about.

texts = st.sampled_from(["", "a", "b", "ab", "ba", "é", "x\ny", "2024-02-30", "a" * 4])
numbers = st.sampled_from([-1, 0, 1, 2, 3, 1.5, 2.0, 0.25, 7])
scalars = st.one_of(st.none(), st.booleans(), numbers, texts)
names = st.sampled_from(["a", "b", "c", "ab", "kind"])
instances = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(names, inner, max_size=4),
    ),
    max_leaves=6,
)


def objects(**members: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Dictionaries with some of these members."""
    return st.fixed_dictionaries({}, optional=members)


counts = st.integers(0, 3)
PATTERNS = ["a", "^a", "^b", "b$", "^[^a]*$", "^.$", r"^\w+$", "^$"]
kinds = st.sampled_from(["string", "integer", "number", "array", "object", "null", "boolean"])
some_names = st.lists(names, min_size=1, max_size=2, unique=True)
PLAIN: dict[str, st.SearchStrategy[Any]] = {
    "type": st.one_of(kinds, st.lists(kinds, min_size=1, max_size=3, unique=True)),
    "enum": st.lists(instances, min_size=1, max_size=4),
    "const": instances,
    "minimum": numbers,
    "exclusiveMaximum": numbers,
    "multipleOf": st.sampled_from([1, 2, 0.5, 1.5]),
    "minLength": counts,
    "maxLength": counts,
    "pattern": st.sampled_from(PATTERNS),
    "minItems": counts,
    "maxItems": counts,
    "uniqueItems": st.booleans(),
    "required": some_names,
    "minProperties": counts,
    "maxProperties": counts,
    "dependentRequired": st.dictionaries(names, some_names, min_size=1, max_size=2),
}
ONE = ["items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else"]
ONE += ["unevaluatedProperties", "unevaluatedItems"]
MANY = ["allOf", "anyOf", "oneOf", "prefixItems"]
BY_NAME = ["properties", "patternProperties", "dependentSchemas", "properties"]
TOGETHER = [
    ("properties", "additionalProperties"),
    ("properties", "required"),
    ("prefixItems", "items"),
    ("if", "then", "else"),
    ("if", "else"),
    ("contains", "maxContains"),
    ("contains", "minContains", "maxItems"),
    ("type", "minProperties", "properties"),
    ("maxProperties", "properties", "required"),
    ("properties", "unevaluatedProperties", "anyOf"),
    ("prefixItems", "unevaluatedItems", "allOf"),
    ("type", "oneOf"),
    ("properties", "not"),
    ("properties", "patternProperties", "additionalProperties"),
    ("propertyNames", "properties"),
]


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> Any:
    """A schema of draft 2020-12 that says a few things, nested so deep."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from([True, {}, False]))
    nested = [*ONE, *MANY, *BY_NAME] if depth else []
    keys = draw(st.lists(st.sampled_from([*PLAIN, *nested]), min_size=1, max_size=3, unique=True))
    if depth and draw(st.booleans()):
        keys = list(dict.fromkeys([*draw(st.sampled_from(TOGETHER)), *keys[:1]]))
    inner = schemas(depth - 1)
    out: dict[str, Any] = {}
    for keyword in keys:
        if keyword in PLAIN:
            out[keyword] = draw(PLAIN[keyword])
        elif keyword in ("minContains", "maxContains"):
            out[keyword] = draw(counts)
        elif keyword in MANY:
            out[keyword] = draw(st.lists(inner, min_size=1, max_size=3))
        elif keyword in BY_NAME:
            keyed = st.sampled_from(PATTERNS) if keyword == "patternProperties" else names
            out[keyword] = draw(st.dictionaries(keyed, inner, min_size=1, max_size=2))
        else:
            out[keyword] = draw(inner)
    return out


LIKELY = b'{}[]":,abckind0123.tfn'


def pool() -> list[Any]:
    """Small values of every kind, so many that most keywords find some on either side."""
    few = [None, True, 0, 1, 2, 1.5, -1, "", "a", "b", "ab"]
    least = [0, 1, "a", None]
    arrays = [list(some) for n in range(4) for some in product(least, repeat=n)]
    members = [
        dict(zip(chosen, some, strict=True))
        for n in range(3)
        for chosen in combinations(["a", "b", "c", "ab"], n)
        for some in product([0, 1.5, "a", "ab", [], {}, None], repeat=n)
    ]
    three = [dict.fromkeys("abc", value) for value in few]
    nested = [{"a": part} for part in members[:60:3]] + [[part] for part in members[:60:4]]
    more = [[[]], [[1], [1]], [{}, {}], [1, 1.0], [True, 1], ["a", "b", "ab", "a"], [2, 3, 4, 5]]
    strings = ["ba", "é", "x\ny", "aaaa", "a b"]
    return [*few, *strings, 3, 7, 0.25, *arrays, *members, *three, *nested, *more]


POOL = pool()


def hold(schema: Any, values: list[Any], *, formats: bool = False) -> None:
    """The properties that every analysis has, shown for these values."""
    true = jsonschema_rs.validator_for(schema, validate_formats=formats)
    try:
        analysis = analyse(schema, formats=formats)
    except SchemaRefused as refusal:
        if "nothing can be valid" not in refusal.message:
            raise
        assert not any(map(true.is_valid, values))
        return
    for n, value in enumerate(values):
        valid = true.is_valid(value)
        written = spelled(analysis.arranger.arranged(value))
        by_grammar = analysis.grammar.accepts(written)
        if n < 5:
            assert analysis.accepts(value) == (valid and by_grammar)
        if valid and not analysis.report.of("narrowed"):
            assert by_grammar, (schema, value, analysis.grammar_schema)
        if by_grammar and analysis.report.exact:
            assert valid, (schema, value, analysis.grammar_schema)
    for seed in range(3):
        text = walked(analysis.grammar, Random(seed))
        if text is not None and analysis.report.exact and once(text):
            value = json.loads(text)
            assert true.is_valid(value), (schema, text)


def once(text: str) -> bool:
    """No name stands twice in an object; the grammar does not see to that."""
    pairs: list[Any] = []
    json.loads(text, object_pairs_hook=lambda found: pairs.append([n for n, _ in found]))
    return all(len(set(one)) == len(one) for one in pairs)


def walked(grammar: ByteGrammar, chance: Random, limit: int = 160) -> str | None:
    """Any text that the grammar can write; None if it got too long."""
    matcher, raw = grammar.matcher(), b""
    while len(raw) < limit:
        mask = matcher.compute_bitmask()
        able = [byte for byte in range(256) if mask[byte // 8] >> byte % 8 & 1]
        if matcher.is_accepting() and (not able or chance.random() < 0.5):
            return raw.decode()
        likely = [byte for byte in able if byte in LIKELY and chance.random() < 0.9]
        byte = chance.choice(likely or able)
        assert matcher.consume_token(byte)
        raw += bytes([byte])
    return None


def same(schema: Any, values: list[Any], **options: Any) -> None:
    """The grammar alone says exactly what the schema says, and the report claims so."""
    true = jsonschema_rs.validator_for(schema, validate_formats=False)
    try:
        matcher = SchemaMatcher(schema, strict=True, formats=False, **options)
    except SchemaRefused as refusal:
        if "so narrow a range" in refusal.message:  # between 1 and 1.5, without the two
            return
        if "nothing can be valid" not in refusal.message:
            raise
        assert not any(map(true.is_valid, values))
        return
    assert not matcher.report.of("narrowed")
    for value in values:
        written = spelled(matcher.analysis.arranger.arranged(value))
        got = matcher.analysis.grammar.accepts(written)
        assert got == true.is_valid(value), (schema, value, matcher.analysis.grammar_schema)


def all_objects(keys: str, held: list[Any]) -> list[dict[str, Any]]:
    """Every object over these names, each left out or with one of the values."""
    absent = object()
    return [
        {name: value for name, value in zip(keys, some, strict=True) if value is not absent}
        for some in product([absent, *held], repeat=len(keys))
    ]


def all_arrays(held: list[Any], longest: int) -> list[list[Any]]:
    """Every array of these values up to a length."""
    return [list(some) for n in range(longest + 1) for some in product(held, repeat=n)]


SCALARS: list[Any] = [None, True, False, -1, 0, 1, 2, 3, 1.5, "", "a", "b", "ab", "ba", [], {}]
WHOLE = [value for value in SCALARS if value != 1.5]
OBJECTS = all_objects("abc", [0, "a"])
single = st.sampled_from("abc")
plain_types = st.sampled_from([{"type": "integer"}, {"type": "string"}, True, False])
letters = st.lists(single, min_size=1, max_size=2, unique=True)


# All together


@settings(deadline=None, max_examples=100)
@given(schema=schemas(), seed=st.integers(0, 2**32))
def test_any_schema_means_the_same_or_says_what_it_does_not_enforce(schema: Any, seed: int) -> None:
    hold(schema, Random(seed).sample(POOL, 60))


# One lowering at a time


@FEW
@given(
    kinds=st.lists(st.sampled_from(["x", "y", 1, None, True]), min_size=1, max_size=4, unique=True),
    payload=st.lists(st.sampled_from(["string", "integer", "null"]), min_size=4, max_size=4),
    closed=st.booleans(),
    listed=st.booleans(),
)
def test_one_of_told_apart_by_a_constant(
    kinds: list[Any], payload: list[str], closed: bool, listed: bool
) -> None:
    alternatives = [
        {
            "type": "object",
            "properties": {
                "k": {"enum": [kind]} if listed else {"const": kind},
                "v": {"type": kind_of_value},
            },
            "required": ["k"],
            **({"additionalProperties": False} if closed else {}),
        }
        for kind, kind_of_value in zip(kinds, payload, strict=False)
    ]
    values = all_objects("kvz", ["x", "y", 1, None])
    same({"oneOf": alternatives}, [*values, *SCALARS])


@FEW
@given(
    alternatives=st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "type": st.sampled_from(["string", "object", "null", "number"]),
                "required": letters,
                "maxLength": counts,
                "minimum": counts,
                "enum": st.lists(st.sampled_from(SCALARS[:13]), min_size=1, max_size=3),
            },
        ),
        min_size=1,
        max_size=3,
    )
)
def test_one_of_that_overlaps_leaves_out_what_two_of_them_allow(alternatives: list[Any]) -> None:
    same({"oneOf": alternatives}, [*SCALARS, *OBJECTS])


@FEW
@given(
    wanted=st.dictionaries(single, letters, min_size=1, max_size=3),
    typed=st.booleans(),
    draft_7=st.booleans(),
)
def test_dependent_names(wanted: Mapping[str, list[str]], typed: bool, draft_7: bool) -> None:
    schema: dict[str, Any] = {"type": "object"} if typed else {}
    if draft_7:
        schema |= {"$schema": DRAFT_7, "dependencies": wanted}
    else:
        schema["dependentRequired"] = wanted
    same(schema, [*OBJECTS, *SCALARS])


@FEW
@given(
    wanted=st.dictionaries(
        single,
        st.one_of(
            st.booleans(),
            st.builds(lambda names: {"required": names}, letters),
            st.builds(lambda name: {"properties": {name: {"type": "integer"}}}, single),
        ),
        min_size=1,
        max_size=2,
    )
)
def test_dependent_schemas(wanted: Mapping[str, Any]) -> None:
    same({"dependentSchemas": wanted, "properties": {"a": {}}}, [*OBJECTS, *SCALARS])


@FEW
@given(
    condition=st.one_of(
        st.builds(lambda v: {"properties": {"a": {"const": v}}}, st.sampled_from([0, "a", "x"])),
        st.builds(
            lambda v: {"properties": {"a": {"enum": v}}, "required": ["a"]},
            st.lists(st.sampled_from([0, "a", "x"]), min_size=1, max_size=2),
        ),
        st.builds(lambda v: {"required": v}, letters),
        st.sampled_from([{"type": "string"}, {"const": "a"}, {"minimum": 1}, True, False]),
    ),
    branches=st.fixed_dictionaries(
        {},
        optional={
            key: st.one_of(
                st.builds(lambda v: {"required": v}, letters),
                st.sampled_from([{"properties": {"b": {"type": "string"}}}, False, {"maximum": 2}]),
            )
            for key in ("then", "else")
        },
    ),
)
def test_conditions_over_constants(condition: Any, branches: Mapping[str, Any]) -> None:
    same({"if": condition, **branches}, [*OBJECTS, *SCALARS])


@FEW
@given(
    values=st.lists(st.sampled_from(["a", "b", 1, None]), min_size=1, max_size=4, unique=True),
    bounds=objects(minItems=counts, maxItems=counts),
)
def test_arrays_of_listed_values_each_once(values: list[Any], bounds: Mapping[str, int]) -> None:
    schema = {"type": "array", "items": {"enum": values}, "uniqueItems": True, **bounds}
    same(schema, all_arrays(["a", "b", 1, None], 4))


@FEW
@given(
    denied=st.one_of(
        st.builds(lambda v: {"const": v}, st.sampled_from(SCALARS)),
        st.builds(lambda v: {"enum": v}, st.lists(st.sampled_from(WHOLE), min_size=1)),
        st.builds(lambda v: {"type": v}, st.sampled_from(["string", "number", "object", "null"])),
        st.builds(lambda v: {"required": v}, letters),
        st.builds(lambda k, v: {k: v}, st.sampled_from(["minimum", "exclusiveMaximum"]), counts),
        st.builds(lambda k, v: {k: v}, st.sampled_from(["exclusiveMinimum", "maximum"]), counts),
        st.builds(lambda k, v: {k: v}, st.sampled_from(["minLength", "maxLength"]), counts),
        st.builds(lambda k, v: {k: v}, st.sampled_from(["minProperties", "maxItems"]), counts),
        st.builds(lambda v: {"dependentRequired": {"a": v}}, letters),
        st.builds(
            lambda v: {"properties": {"a": {"type": v}}}, st.sampled_from(["string", "null"])
        ),
        st.builds(lambda v: {"anyOf": [{"const": v}, {"type": "string"}]}, counts),
        st.builds(lambda v: {"allOf": [{"minimum": v}, {"type": "number"}]}, counts),
        st.builds(lambda v: {"if": {"minimum": v}, "then": {"maximum": 2}}, counts),
        st.builds(lambda v: {"oneOf": [{"minimum": v}, {"maximum": 1}]}, counts),
        st.builds(lambda v: {"not": {"required": v}}, letters),
    ),
    beside=st.sampled_from([{}, {"type": "string"}, {"type": "object"}, {"maxProperties": 2}]),
)
def test_negations(denied: Any, beside: Mapping[str, Any]) -> None:
    same({**beside, "not": denied}, [*SCALARS, *OBJECTS, [1], [1, 2], [1, 2, 3], [0] * 4])


@FEW
@given(
    parts=st.dictionaries(
        st.sampled_from(["^a", "^b", "^c.$", "^x*$"]),
        plain_types,
        min_size=1,
        max_size=3,
    ),
    rest=plain_types,
    named=st.dictionaries(st.sampled_from(["a", "ab", "d"]), plain_types, max_size=2),
)
def test_disjoint_patterns_of_names(
    parts: Mapping[str, Any], rest: Any, named: Mapping[str, Any]
) -> None:
    schema = {"patternProperties": parts, "additionalProperties": rest, "properties": named}
    values = [
        {name: value, other: 0}
        for name, other in product(["a", "ab", "b", "cd", "c", "d", "", "xx"], repeat=2)
        for value in (0, "s", None)
    ]
    same(schema, [{}, *values, *SCALARS])


@FEW
@given(
    wanted=st.one_of(
        st.booleans(),
        st.builds(lambda v: {"enum": v}, st.lists(st.sampled_from(["a", "b", "c", 1]), min_size=1)),
        st.sampled_from(
            [
                *({"const": "a"}, {"pattern": "^a"}, {"pattern": "b"}, {"maxLength": 1}),
                *({"minLength": 2}, {"minLength": 1, "maxLength": 1}, {"not": {"const": "a"}}),
                *({"type": "string"}, {"type": "integer"}),
                {"anyOf": [{"const": "b"}, {"pattern": "^a.$"}]},
            ]
        ),
    ),
    named=st.dictionaries(st.sampled_from(["a", "ab"]), plain_types, max_size=2),
    rest=st.booleans(),
    required=st.lists(st.sampled_from(["a", "b"]), max_size=1),
)
def test_property_names(wanted: Any, named: Any, rest: Any, required: list[str]) -> None:
    schema = {
        "propertyNames": wanted,
        "properties": named,
        "additionalProperties": rest,
        "required": required,
    }
    values = [
        {name: value, other: 0}
        for name, other in product(["a", "ab", "b", "c", ""], repeat=2)
        for value in (0, "s")
    ]
    same(schema, [{}, *values, *SCALARS])


@FEW
@given(
    named=st.lists(single, max_size=3, unique=True),
    required=st.lists(st.sampled_from("ab"), max_size=2, unique=True),
    bounds=objects(minProperties=counts, maxProperties=counts),
    rest=st.sampled_from([None, False, {"type": "integer"}]),
)
def test_numbers_of_members(
    named: list[str], required: list[str], bounds: Mapping[str, int], rest: Any
) -> None:
    schema = {"properties": {name: {"type": "integer"} for name in named}, "required": required}
    schema |= bounds if rest is None else {**bounds, "additionalProperties": rest}
    same(schema, [*all_objects("abcx", [0]), *all_objects("ax", ["s"]), *SCALARS])


@FEW
@given(
    match=st.sampled_from([{"type": "string"}, {"const": 1}, {"minimum": 2}, True, False]),
    least=st.integers(0, 2),
    most=st.one_of(st.none(), counts),
    length=st.integers(0, 4),
    items=st.sampled_from([True, {"type": "number"}]),
)
def test_contains_in_short_arrays(
    match: Any, least: int, most: int | None, length: int, items: Any
) -> None:
    schema = {"contains": match, "minContains": least, "maxItems": length, "items": items}
    schema |= {} if most is None else {"maxContains": most}
    same(schema, [*all_arrays(["a", 1, 3], 4), *SCALARS])


def test_contains_in_long_arrays_is_narrowed_and_said_so() -> None:
    matcher = SchemaMatcher({"contains": {"const": 1}}, strict=True)
    (entry,) = matcher.report.of("narrowed")
    assert entry.keyword == "contains"
    assert "first 6" in entry.reason
    assert matcher.accepts([0, 0, 0, 0, 0, 1, 0])
    assert not matcher.accepts([0] * 6 + [1])
    assert not matcher.accepts([0])


@FEW
@given(
    left=st.dictionaries(single, plain_types, max_size=2),
    right=st.dictionaries(single, plain_types, max_size=2),
    rest=plain_types,
    how=st.sampled_from(["allOf", "anyOf", "$ref"]),
)
def test_unevaluated_members(left: Any, right: Any, rest: Any, how: str) -> None:
    inner = {"properties": right}
    schema = {"properties": left, "unevaluatedProperties": rest}
    schema[how] = "#/$defs/inner" if how == "$ref" else [inner, {"required": ["a"]}]
    if how == "$ref":
        schema["$defs"] = {"inner": inner}
    same(schema, [*OBJECTS, *SCALARS])


@FEW
@given(
    left=st.dictionaries(single, plain_types, max_size=2),
    right=st.dictionaries(single, plain_types, max_size=2),
    rests=st.lists(plain_types, min_size=2, max_size=2),
)
def test_members_described_in_two_places(left: Any, right: Any, rests: list[Any]) -> None:
    one = {"properties": left, "additionalProperties": rests[0]}
    two = {"properties": right, "additionalProperties": rests[1], "required": ["b"]}
    same({"allOf": [one, two]}, [*OBJECTS, *SCALARS])
    same({**one, "$ref": "#/$defs/two", "$defs": {"two": two}}, [*OBJECTS, *SCALARS])


@FEW
@given(
    first=st.lists(plain_types, min_size=1, max_size=2),
    rest=plain_types,
    also=st.lists(plain_types, min_size=1, max_size=3),
    bounds=objects(minItems=counts, maxItems=counts),
)
def test_elements_described_in_two_places(
    first: list[Any], rest: Any, also: list[Any], bounds: Mapping[str, int]
) -> None:
    both = [{"prefixItems": first, "items": rest}, {"prefixItems": also, **bounds}]
    same({"allOf": both}, [*all_arrays([0, "a", None], 3), *SCALARS])
    draft_7 = [{"items": first, "additionalItems": rest}, {"items": also, **bounds}]
    same({"$schema": DRAFT_7, "allOf": draft_7}, [*all_arrays([0, "a", None], 3), *SCALARS])
    unevaluated = {"allOf": [{"prefixItems": also}], "unevaluatedItems": rest, **bounds}
    same(unevaluated, all_arrays([0, "a", None], 3))


@FEW
@given(
    schema=objects(
        minimum=numbers,
        maximum=numbers,
        exclusiveMinimum=numbers,
        exclusiveMaximum=numbers,
        multipleOf=st.sampled_from([1, 2, 0.5, 0.1]),
        type=st.sampled_from(["integer", "number"]),
        allOf=st.just([{"multipleOf": 1.5}, {"not": {"enum": [3, 0]}}]),
    )
)
def test_numbers(schema: dict[str, Any]) -> None:
    hold(schema, [n / 4 for n in range(-9, 33)] + [0.1, 0.3, 100, 10**12])


def test_integers_that_are_multiples_of_a_fraction_are_found_to_be_none() -> None:
    parts: list[Any] = [{"multipleOf": 1.5}, {"not": {"enum": [3, 0]}}]
    nothing = {"type": "integer", "minimum": -1, "exclusiveMaximum": 2, "allOf": parts}
    with pytest.raises(SchemaRefused, match="nothing can be valid"):
        SchemaMatcher(nothing)
    assert SchemaMatcher({**nothing, "exclusiveMaximum": 7}).accepts(6)


def test_a_bound_that_the_engine_lets_through_is_checked() -> None:
    matcher = SchemaMatcher({"type": "number", "exclusiveMinimum": 1, "maximum": 1.5})
    (entry,) = matcher.report.of("checked")
    assert entry.keyword == "exclusiveMinimum"
    assert not matcher.accepts(1)
    assert matcher.accepts(1.25)


@FEW
@given(words=st.lists(st.text('ab"\\\n[^é', max_size=3), min_size=1, max_size=4))
def test_any_text_but_some(words: list[str]) -> None:
    near = [word + end for word in words for end in ("", "a", "\n")] + [w[:-1] for w in words]
    schema = {"type": "string", "not": {"enum": words}}
    true = jsonschema_rs.validator_for(schema)
    matcher = SchemaMatcher(schema, strict=True)
    for value in [*near, "", "aaaa", "\x1f", 1]:
        assert matcher.analysis.grammar.accepts(spelled(value)) == true.is_valid(value), value
    grammar = ByteGrammar({"type": "string", "pattern": expressions.exactly(words)})
    assert all(grammar.accepts(spelled(value)) == (value in words) for value in near)


@pytest.mark.parametrize(
    "pattern",
    [
        *(r"^\d+$", r"^\D$", r"^\w$", r"^\W$", r"^\s$", r"^\S$", "^[^a]$", "a|^b$"),
        *(r"^[\d-]$", r"^[\w.-]+$", r"^[a-c\-x]$", "^[&]$", "^[&&]$", r"^[[]$"),
        *(r"^\u00e9$", r"^\x61$", r"^\cJ$", r"^\/$", "^a{2}$", '^[a"]$'),
        *(r"^(?<n>a)b$", "^(?:a|b)c?$", r"^\p{L}$", r"^[^\s]$", r"^\$$", "^(a|b)*?c$"),
    ],
)
def test_patterns_mean_what_they_mean_to_the_validator(pattern: str) -> None:
    true = jsonschema_rs.validator_for({"pattern": pattern})
    values = [chr(n) for n in range(1, 128)] + ["٣", "é", "\u2028", "\ufeff", "\u00a0", "😀"]
    values += ["", "ab", "aa", "a{,2}", "ac", "bc", "aabc", "12", "a-b", "b", "xb", "c"]
    matcher = SchemaMatcher({"type": "string", "pattern": pattern}, strict=True)
    for value in values:
        got = matcher.analysis.grammar.accepts(spelled(value))
        assert got == true.is_valid(value), (value, matcher.analysis.grammar_schema)


def test_a_dot_is_no_line_end() -> None:
    """As ECMA-262 has it; some versions of the validator leave out the line feed alone."""
    true = jsonschema_rs.validator_for({"pattern": "^.$"})
    matcher = SchemaMatcher({"type": "string", "pattern": "^.$"}, strict=True)
    for value in map(chr, [*range(1, 128), 0x2028, 0x2029, 0x1F600]):
        got = matcher.analysis.grammar.accepts(spelled(value))
        assert got == (value not in "\n\r\u2028\u2029")
        assert true.is_valid(value) or not got


@pytest.mark.parametrize("pattern", ['^[^"]$', r"^[^\\]$", '^["a]?[^"]$', '^[^"\\\\x]*$'])
def test_quotes_that_a_pattern_forbids_stay_out(pattern: str) -> None:
    matcher = SchemaMatcher({"type": "string", "pattern": pattern}, strict=True)
    true = jsonschema_rs.validator_for({"pattern": pattern})
    assert "quotes" in matcher.report.of("narrowed")[0].reason
    for value in ['"', "\\", "a", "x", "\n", "\x02", "é", 'a"', '""', '"a', "a\\"]:
        assert matcher.analysis.grammar.accepts(spelled(value)) == true.is_valid(value)


BOUNDS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength"]
BOUNDS += ["minItems", "maxItems", "minProperties", "maxProperties"]
INTEGER = {"type": "integer"}


@pytest.mark.parametrize(
    "schema",
    [
        *({"not": {keyword: n}} for keyword in BOUNDS for n in (0, 1, 2)),
        *({"not": {"dependentRequired": {"a": [name]}}} for name in "abc"),
        {"not": {"dependentSchemas": {"a": {"required": ["b"]}}}},
        {"not": {"prefixItems": [{"minimum": 1}, {"type": "string"}]}},
        {"not": {"prefixItems": [{"type": "null"}], "items": False}},
        {"not": {"contains": {"const": 0}, "minContains": 2}, "maxItems": 4},
        {"not": {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": False}},
        {"not": {"oneOf": [{"required": ["a"]}, {"required": ["b"]}, {"type": "string"}]}},
        {"not": {"$ref": "#/$defs/a"}, "$defs": {"a": {"anyOf": [{"minimum": 1}, {"maximum": 0}]}}},
        {"allOf": [{"patternProperties": {"^a": INTEGER}, "additionalProperties": False},
                   {"properties": {"a": {"minimum": 0}, "b": True}}]},
        {"patternProperties": {"": INTEGER, "^b": {"minimum": 1}}, "additionalProperties": False},
        {"required": ["b", "a"], "additionalProperties": INTEGER},
        {"allOf": [{"prefixItems": [True], "items": INTEGER}], "unevaluatedItems": False},
        {"allOf": [{"prefixItems": [True]}], "unevaluatedItems": INTEGER},
        {"allOf": [{"unevaluatedItems": INTEGER}], "unevaluatedItems": False},
        {"allOf": [{"unevaluatedProperties": INTEGER}], "unevaluatedProperties": False},
        {"allOf": [{"additionalProperties": INTEGER}], "unevaluatedProperties": False},
        {"if": {"required": ["a"], "properties": {"a": INTEGER}}, "unevaluatedProperties": False},
        {"anyOf": [{"properties": {"a": INTEGER}}, {"properties": {"b": INTEGER}}],
         "unevaluatedProperties": False},
        {"$ref": "#/$defs/a", "required": ["b"], "$defs": {"a": {"required": ["a"]}}},
        {"enum": [0, "a", [0], {"a": 0}, None, 1.0], "not": {"type": "string"}},
        {"const": {"b": 0, "a": "a"}},
        {"type": ["object", "null"], "minProperties": 1, "anyOf": [{"required": ["a"]}, True]},
        {"propertyNames": {"enum": ["a", "b"]}, "patternProperties": {"^b": INTEGER}},
        {"uniqueItems": True, "items": {"type": "boolean"}},
        {"uniqueItems": True, "prefixItems": [{"enum": [0, 1]}], "items": {"enum": [1, 0]}},
        {"items": False},
        {"additionalProperties": False, "properties": {"a": False, "b": True}},
    ],
    ids=json.dumps,
)  # fmt: skip
def test_exactly_the_same_is_said(schema: Any) -> None:
    lists = [*all_arrays([0, "a", True, False, 1], 2), [0, 1, 2], [0, 0, "a"], [0] * 4]
    same(schema, [*SCALARS, *OBJECTS, *lists, {"ab": 1}, {"x": "a"}, {"a": 2, "b": 0}])


def test_every_number_of_members() -> None:
    for named, required, least, most, rest in product(
        ("ab", "abc"), ([], ["a"]), range(4), (None, 1, 2, 3), (True, False, INTEGER)
    ):
        schema: dict[str, Any] = {"minProperties": least, "required": required}
        schema |= {} if most is None else {"maxProperties": most}
        schema |= {"properties": dict.fromkeys(named, INTEGER), "additionalProperties": rest}
        same(schema, all_objects("abcx", [0]))


# References


TREE = {
    "properties": {"v": {"type": "integer"}, "kids": {"items": {"$ref": "#"}}},
    "type": "object",
}


def test_references_within_the_document() -> None:
    same(TREE, [{"v": 1, "kids": [{"v": 2, "kids": []}]}, {"kids": [{"v": "x"}]}, {"kids": [1]}, 1])
    listed = {"$ref": "#/prefixItems/1", "prefixItems": [True, {"type": "array"}]}
    same(listed, [[], [1], 1])
    anchored = {"$ref": "#it", "$defs": {"x": {"$anchor": "it", "type": "string"}}}
    same(anchored, ["a", 1])
    escaped = {"$ref": "#/$defs/a~1b%25", "$defs": {"a/b%": {"type": "string"}}}
    same(escaped, ["a", 1])
    based = {
        "$id": "http://example.com/root.json",
        "$ref": "inner.json#/$defs/x",
        "$defs": {
            "i": {"$id": "inner.json", "$defs": {"x": {"$ref": "#y"}, "y": {"$anchor": "y"}}}
        },
    }
    same(based, ["a", 1])
    old = {"$schema": DRAFT_7, "$ref": "#it", "definitions": {"x": {"$id": "#it", "minimum": 1}}}
    same(old, [0, 1, "a"])


def test_a_file_that_the_caller_gives_is_used_and_nothing_else_is_fetched() -> None:
    files = {"http://example.com/n.json": {"$defs": {"n": {"type": "integer"}}}}
    schema = {"items": {"$ref": "http://example.com/n.json#/$defs/n"}, "type": "array"}
    matcher = SchemaMatcher(schema, files=files, strict=True)
    assert matcher.accepts([1, 2])
    assert not matcher.accepts(["a"])
    assert "http://example.com/n.json#/$defs/n" in {e.pointer for e in matcher.report.keywords}
    with pytest.raises(SchemaRefused, match=r"at /items: \$ref: .*n\.json is not in this document"):
        SchemaMatcher(schema)


@pytest.mark.parametrize(
    ("schema", "what"),
    [
        ({"$ref": "#/$defs/x"}, r"at the root: \$ref: '#/\$defs/x' .* no '\$defs' on the way"),
        ({"properties": {"a": {"$ref": "#b"}}}, r"at /properties/a: \$ref: .* no anchor 'b'"),
        ({"$ref": "#/title", "title": "t"}, "that is str, not a schema"),
        ({"type": "strin"}, "at the root: type: this is not a JSON Schema"),
        ({"properties": {"a": {"minLength": -1}}}, "at /properties/a: minLength: this is not"),
        ({"pattern": "["}, r"at the root: pattern: '\[' is not a regular"),
        (
            {"$schema": "http://example.com/mine"},
            r"\$schema: 'http://example.com/mine' is not a known",
        ),
        ([1], "a schema is an object, true or false, not list"),
        (False, "nothing can be valid"),
        ({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}, "nothing can"),
        ({"allOf": [{"type": "string"}, {"type": "null"}]}, "nothing can be valid"),
    ],
)
def test_what_cannot_be_used_is_refused_with_place_and_reason(schema: Any, what: str) -> None:
    with pytest.raises(SchemaRefused, match=what) as caught:
        SchemaMatcher(schema)
    (entry, *_) = caught.value.report.of("refused")
    assert entry.reason in str(caught.value)


def test_alternatives_that_multiply_are_refused_or_checked_not_followed_for_ever() -> None:
    some = [{"properties": {f"p{n}": {"const": 1}}, "required": [f"p{n}"]} for n in range(12)]
    schema = {"allOf": [{"anyOf": some}, {"anyOf": some[::-1]}, {"anyOf": some}]}
    matcher = SchemaMatcher(schema)
    assert "too many cases" in matcher.report.of("checked")[0].reason
    assert matcher.accepts({"p3": 1})
    assert not matcher.accepts({"p3": 2})


# The report


def verdicts(schema: Any, **options: Any) -> dict[tuple[str, str], str]:
    report = SchemaMatcher(schema, **options).report
    return {(entry.pointer, entry.keyword): entry.verdict for entry in report.keywords}


def test_each_keyword_has_a_verdict_at_its_place() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "array", "uniqueItems": True},
            "b": {"pattern": r"\bword", "maxLength": 5},
            "c/d": {"$ref": "#/$defs/e"},
        },
        "$defs": {"e": {"not": {"pattern": "x"}}, "unused": {"uniqueItems": True}},
    }
    assert verdicts(schema) == {
        ("", "type"): "enforced",
        ("", "properties"): "enforced",
        ("/properties/a", "type"): "enforced",
        ("/properties/a", "uniqueItems"): "checked",
        ("/properties/b", "pattern"): "checked",
        ("/properties/b", "maxLength"): "enforced",
        ("/properties/c~1d", "$ref"): "enforced",
        ("/$defs/e", "not"): "checked",
        ("/$defs/e/not", "pattern"): "checked",
    }
    matcher = SchemaMatcher(schema)
    assert matcher.accepts({"a": [1, 2], "b": "word"})
    assert not matcher.accepts({"a": [1, 1]})
    assert matcher.analysis.grammar.accepts('{"a": [1, 1]}')
    with pytest.raises(SchemaRefused, match="uniqueItems: it cannot be enforced") as caught:
        SchemaMatcher(schema, strict=True)
    assert {e.keyword for e in caught.value.report.of("refused")} == {
        "uniqueItems",
        "pattern",
        "not",
    }
    assert json.dumps(matcher.report.as_dict())


@pytest.mark.parametrize(
    ("schema", "keyword", "what"),
    [
        ({"propertys": {}}, "propertys", "is properties meant?"),
        ({"maxlength": 3}, "maxlength", "is maxLength meant?"),
        ({"x-verbatm": True}, "x-verbatm", "is x-verbatim meant?"),
        ({"verbatim": True}, "verbatim", "is x-verbatim meant?"),
        ({"frobnicate": 3}, "frobnicate", "not a keyword of draft 2020-12"),
        ({"$schema": DRAFT_7, "prefixItems": []}, "prefixItems", "not a keyword of draft 7"),
        (
            {"$schema": DRAFT_7, "$ref": "#/definitions/a", "minimum": 1, "definitions": {"a": {}}},
            "minimum",
            "draft 7 ignores it beside $ref",
        ),
        ({"then": {}}, "then", "without if it says nothing"),
        ({"format": "colour"}, "format", "'colour' is not a format that is known"),
    ],
)
def test_keywords_without_effect_are_pointed_out(schema: Any, keyword: str, what: str) -> None:
    (entry,) = SchemaMatcher(schema, strict=True).report.unknown
    assert entry.keyword == keyword
    assert what in entry.reason


def test_keywords_of_ones_own_are_kept_for_those_who_know_them() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "x-verbatim": True}}}
    analysis = analyse(schema)
    assert analysis.grammar_schema == schema
    assert not analysis.report.unknown


def test_formats_assert_unless_that_is_turned_off() -> None:
    schema = {"type": "string", "format": "date"}
    assert SchemaMatcher(schema, strict=True).accepts("2024-02-29")
    assert not SchemaMatcher(schema).accepts("2023-02-29")
    assert SchemaMatcher(schema, formats=False).accepts("no date")
    assert verdicts({"format": "uri-reference"}) == {("", "format"): "checked"}
    assert not SchemaMatcher({"format": "uri-reference"}).accepts("\\\\WIN")


def test_texts_are_judged_as_they_stand() -> None:
    matcher = SchemaMatcher({"type": "object", "properties": {"a": {}, "b": {"type": "integer"}}})
    assert matcher.accepts_text('{"a": 1, "b": 2}')
    assert matcher.accepts_text(b'{"b": 2}')
    for text in (
        '{"b": 2, "a": 1}',
        '{"c": 1, "c": 2}',
        '{"a":1}',
        '{"b": "x"}',
        "{",
        "NaN",
        '{"a": NaN}',
    ):
        assert not matcher.accepts_text(text), text
    assert matcher.accepts({"b": 2, "a": 1})
    assert not matcher.accepts({"a": "\ud800"})
    for schema in ({"type": "string"}, {"type": "string", "minLength": 1}):
        assert not SchemaMatcher(schema).accepts_text('"\\ud800"')
