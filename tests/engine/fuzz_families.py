"""Schemas of one kind of trouble each: too deep, too many, too large, in circles, empty."""

from __future__ import annotations

from random import Random
from typing import Any

from fuzz_schemas import FORMATS, NUMBERS, PATTERNS, TRAPS, Make

Schema = Any


def deep(pick: Random) -> Schema:
    """One keyword inside itself, 5 to 300 times."""
    schema: Schema = {"type": "integer"}
    key = pick.choice(("items", "not", "allOf", "anyOf", "properties", "additionalProperties"))
    for _ in range(pick.choice((5, 12, 60, 200, 300))):
        wrapped = {
            "allOf": [schema],
            "anyOf": [schema, {"type": "null"}],
            "properties": {"a": schema},
        }
        schema = {key: wrapped.get(key, schema)}
    return schema


def deep_text(pick: Random) -> str:
    """Nesting that no structure survives: 1,000 to 200,000 levels of text."""
    n = pick.choice((1000, 20_000, 200_000))
    return pick.choice(('{"items":' * n + "true" + "}" * n, "[" * n, '{"a":' * n))


def doubling(pick: Random) -> Schema:
    """Each level has two of the one before: small as a graph, large as a tree."""
    schema: Schema = {"type": "string", "minLength": 1}
    key = pick.choice(("oneOf", "anyOf", "allOf"))
    for level in range(pick.randint(3, 8)):
        other = {"properties": {f"k{level}": schema}, "required": [f"k{level}"]}
        if pick.random() < 0.7:
            other["type"] = "object"
        schema = {key: [schema, other]}
    return schema


def doubling_refs(pick: Random) -> Schema:
    """The same through references, up to 40 levels: 2^40 nodes as a tree."""
    key, n = pick.choice(("oneOf", "anyOf", "allOf", "prefixItems")), pick.choice((5, 12, 40))
    defs: Schema = {"d0": {"type": "integer", "minimum": 3}}
    for i in range(1, n):
        other = pick.choice(({"type": "object", "required": ["a"]}, {"$ref": f"#/$defs/d{i - 1}"}))
        defs[f"d{i}"] = {key: [{"$ref": f"#/$defs/d{i - 1}"}, other]}
    return {"$defs": defs, "$ref": f"#/$defs/d{n - 1}"}


def nested_one_of(pick: Random) -> Schema:
    """The twelve levels that stop other engines."""
    schema: Schema = {"type": "integer"}
    for level in range(pick.choice((12, 30))):
        kind = pick.choice(({"type": "string", "minLength": level}, {"const": f"v{level}"}))
        schema = {pick.choice(("oneOf", "anyOf")): [schema, kind]}
    return schema


def circles(pick: Random) -> Schema:
    """References that meet themselves, with and without anything in between."""
    n = pick.choice((1, 2, 3, 50))
    way = pick.choice(("bare", "allOf", "anyOf", "items", "required", "not", "oneOf"))
    defs = {}
    for i in range(n):
        ref = {"$ref": f"#/$defs/d{(i + 1) % n}"}
        defs[f"d{i}"] = {
            "bare": ref,
            "allOf": {"allOf": [ref, ref]},
            "anyOf": {"anyOf": [ref, {"type": "integer"}]},
            "items": {"type": "array", "items": ref, "minItems": pick.randint(0, 1)},
            "required": {"type": "object", "properties": {"a": ref}, "required": ["a"]},
            "not": {"not": ref},
            "oneOf": {"oneOf": [ref, {"type": "null"}]},
        }[way]
    return {"$defs": defs, "$ref": pick.choice(("#/$defs/d0", "#"))}


def bad_refs(pick: Random) -> Schema:
    """Pointers to nothing, to odd places, to the outside."""
    target = pick.choice(
        (
            *("#/nope", "#/$defs/a/type", "#/%zz", "#/$defs/~2", "#nope", "", "##", "#/$defs/%61"),
            *("http://127.0.0.1:9/s.json", "file:///dev/zero", "urn:a", "//", "a.json#/b", " ", 5),
            *("#/enum/0", "#/properties", "#/" + "a/" * 5000, "\ud800", "#/$defs/a\u0000"),
        )
    )
    other = {"$dynamicRef": "#n"} if pick.random() < 0.1 else {"$ref": target}
    return {
        "$defs": {"a": {"type": "string", "$anchor": pick.choice(("x", "x", 3, ""))}},
        "enum": [1],
        "$id": pick.choice(("http://a.example/b", "", "x", "\x00")),
        **pick.choice((other, {"items": other, "type": "array"}, {"anyOf": [other, True]})),
    }


def long_enum(pick: Random) -> Schema:
    """Enumerations of 1,000 to 100,000 values, alike or of all kinds."""
    n = pick.choice((1000, 1000, 5000, 100_000))
    values: list[Any] = [f"value number {i}" for i in range(n)]
    if pick.random() < 0.3:
        values = ["a" * i for i in range(min(n, 1200))]
    elif pick.random() < 0.3:
        values = [[i, {"a": str(i)}] for i in range(min(n, 4000))]
    schema: Schema = {"enum": values}
    if pick.random() < 0.3:
        schema["pattern"] = pick.choice(PATTERNS)
    return schema if pick.random() < 0.6 else {"type": "array", "items": schema}


def huge_counts(pick: Random) -> Schema:
    """Bounds from 1,000 to beyond every integer."""
    count = pick.choice((1000, 65_535, 100_000, 2**31, 2**32, 2**64, 10**30, 1e9, 1e300))
    string: Schema = {"type": "string"}
    return pick.choice(
        (
            {**string, "maxLength": count},
            {**string, "minLength": count},
            {**string, "pattern": "^[a-z]+$", "maxLength": count, "minLength": 1000},
            {**string, "pattern": f"^(ab?){{{int(min(count, 2**70))}}}$"},
            {"type": "array", "items": string, "maxItems": count},
            {"type": "array", "items": {"type": "integer"}, "minItems": count},
            {"type": "array", "prefixItems": [{}], "minItems": count, "uniqueItems": True},
            {"type": "object", "minProperties": count},
            {"type": "object", "maxProperties": count, "additionalProperties": {"type": "null"}},
            {"type": "array", "contains": {"const": 1}, "minContains": count},
            {"type": "array", "maxItems": 50, "items": {"type": "array", "maxItems": count}},
        )
    )


def odd_numbers(pick: Random) -> Schema:
    """Bounds and divisors of all sizes."""
    names = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "const")
    some = pick.sample(names, pick.randint(1, 3))
    numbers = [value for value in NUMBERS if isinstance(value, int | float)]
    kind = pick.choice(("integer", "number", ["integer", "string"]))
    divisors = (0.1, 1e-9, 7, 10**20, 0.3, 1e300)
    return {
        "type": kind,
        **{name: pick.choice(divisors if name == "multipleOf" else numbers) for name in some},
    }


def empty_languages(pick: Random) -> Schema:
    """Schemas that nothing fits, more or less visibly."""
    nothing = pick.choice(
        (
            *(
                False,
                {"not": {}},
                {"enum": []},
                {"type": []},
                {"allOf": [{"const": 1}, {"const": 2}]},
            ),
            *(
                {"type": "string", "minLength": 3, "maxLength": 2},
                {"type": "string", "pattern": "a^b"},
            ),
            {"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2},
            {"type": "integer", "multipleOf": 10, "minimum": 1, "maximum": 9},
            {"type": "array", "items": False, "minItems": 1},
            {"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True, "minItems": 3},
            {"type": "object", "properties": {"a": False}, "required": ["a"]},
            {"type": "object", "propertyNames": False, "minProperties": 1},
            {"const": "a", "type": "integer"},
            {"type": "string", "pattern": "^a+$", "format": "date"},
            {"type": "string", "enum": ["b"], "pattern": "^a"},
        )
    )
    return pick.choice(
        (
            nothing,
            {"anyOf": [nothing, {"type": "null"}]},
            {"type": "object", "properties": {"a": nothing}, "required": ["a"]},
            {"type": "object", "properties": {"a": nothing, "b": {"type": "null"}}},
            {"type": "array", "items": nothing},
            {"oneOf": [nothing, nothing]},
        )
    )


def patterns(pick: Random) -> Schema:
    """Expressions that hang, break or mean something else elsewhere."""
    one: Schema = {"type": "string", "pattern": pick.choice(PATTERNS)}
    if pick.random() < 0.4:
        one |= {"maxLength": pick.choice((0, 1, 4, 300)), "minLength": pick.choice((0, 2))}
    if pick.random() < 0.2:
        return {"type": "object", "patternProperties": {one["pattern"]: {"type": "null"}}}
    if pick.random() < 0.2:
        return {"allOf": [one, {"pattern": pick.choice(PATTERNS)}]}
    return one


def unicode_traps(pick: Random) -> Schema:
    """Names and values that text handling stumbles over."""
    names = pick.sample(TRAPS, 4)
    return {
        "type": "object",
        "properties": {name: {"enum": pick.sample(TRAPS, 2)} for name in names},
        "required": names[: pick.randint(0, 4)],
        "description": pick.choice(TRAPS),
    }


def wide(pick: Random) -> Schema:
    """Many properties, many alternatives, many dependencies."""
    n = pick.choice((40, 300, 1500))
    names = [f"property_{i}" for i in range(n)]
    part: Schema = {"type": pick.choice(("integer", "string"))}
    objects = [{"type": "object", "properties": {x: part}, "required": [x]} for x in names[:300]]
    return pick.choice(
        (
            {"type": "object", "properties": dict.fromkeys(names, part)},
            {"type": "object", "properties": dict.fromkeys(names, part), "required": names},
            {"type": "object", "properties": dict.fromkeys(names, part), "minProperties": n // 2},
            {"anyOf": objects},
            {"oneOf": objects},
            {"allOf": objects},
            {"type": "object", "dependentRequired": dict.fromkeys(names, names[:3])},
            {"type": "array", "prefixItems": [part] * n, "minItems": n // 3},
            {"allOf": [{"if": {"required": [x]}, "then": {"required": ["z"]}} for x in names[:60]]},
            {"allOf": [{"not": {"const": x}} for x in names], "type": "string"},
        )
    )


def formats(pick: Random) -> Schema:
    """Every format, alone and crowded."""
    schema: Schema = {"type": "string", "format": pick.choice(FORMATS)}
    if pick.random() < 0.4:
        schema |= pick.choice(({"maxLength": 3}, {"pattern": "^a"}, {"minLength": 50}))
    return schema


def grounded(pick: Random) -> Schema:
    """vedette's own keywords, in places where they make no sense."""
    mark = pick.choice(
        (
            {"x-verbatim": pick.choice((True, True, "yes", 1))},
            {"x-one-of-input": pick.choice((*PATTERNS, "[0-9]+", "(a)|b", 7))},
            {"x-evidence": pick.choice(({"a": "a+"}, {"b": "("}, [], {"zz": 1}))},
        )
    )
    field = {"type": pick.choice(("string", ["string", "null"], "integer")), **mark}
    if "x-evidence" in mark:
        field["enum"] = ["a", "b", None]
    if pick.random() < 0.3:
        field |= pick.choice(({"maxLength": 3}, {"pattern": "a"}, {"enum": ["a"]}, {"const": "x"}))
    return pick.choice(
        (
            {"type": "object", "properties": {"v": field}, "required": ["v"]},
            {"type": "array", "items": field, "maxItems": 3},
            {"anyOf": [field, {"type": "object", "properties": {"a": field}}]},
            {"$defs": {"v": field}, "$ref": "#/$defs/v"},
            {"not": field},
        )
    )


FAMILIES: tuple[Make, ...] = (
    *(deep, deep_text, doubling, doubling_refs, nested_one_of, circles, bad_refs, long_enum),
    *(huge_counts, odd_numbers, empty_languages, patterns, unicode_traps, wide, formats, grounded),
)
