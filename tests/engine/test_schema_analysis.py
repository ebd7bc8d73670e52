"""What is lowered means the same as before, and nothing invalid gets through."""

from __future__ import annotations

import json
from itertools import combinations, product
from random import Random
from typing import Any

import jsonschema_rs
from hypothesis import given, settings
from hypothesis import strategies as st

from vedette.engine.constraint.schema import SchemaMatcher, SchemaRefused, analyse
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
        assert "nothing can be valid" in refusal.message, refusal
        assert not any(map(true.is_valid, values))
        return
    for value in values:
        valid = true.is_valid(value)
        written = spelled(analysis.arranger.arranged(value))
        by_grammar = analysis.grammar.accepts(written)
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
        if matcher.is_accepting() and (matcher.is_stopped() or chance.random() < 0.5):
            return raw.decode()
        mask = matcher.compute_bitmask()
        able = [byte for byte in range(256) if mask[byte // 8] >> byte % 8 & 1]
        likely = [byte for byte in able if byte in LIKELY and chance.random() < 0.9]
        byte = chance.choice(likely or able)
        assert matcher.consume_token(byte)
        raw += bytes([byte])
    return None


def all_enforced(schema: Any, **options: Any) -> SchemaMatcher:
    """A matcher whose grammar says everything, and no less than the schema."""
    matcher = SchemaMatcher(schema, strict=True, **options)
    assert not matcher.report.of("narrowed")
    return matcher


@settings(deadline=None, max_examples=100)
@given(schema=schemas(), seed=st.integers(0, 2**32))
def test_any_schema_means_the_same_or_says_what_it_does_not_enforce(schema: Any, seed: int) -> None:
    hold(schema, Random(seed).sample(POOL, 60))
