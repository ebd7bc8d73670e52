"""Schemas that nobody should send, and mutations of those that everybody sends: as JSON text."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from random import Random
from typing import Any

Make = Callable[[Random], Any]

TRAPS = (
    *("", " ", "a b", '"', "\\", "/", "~", "%41", "\x00", "\x1f", "\x7f", "\u2028", "\ufeff"),
    *("é", "e\u0301", "ß", "İ", "日本", "😀", "👩\u200d🦰", "\u202e", "\ud800", "\udc00\ud800"),
    *("$ref", "__proto__", "<|im_end|>", "<think>", "a" * 10_000, "\U0010ffff", "{", "}]", "null"),
)
NUMBERS = (
    *(0, -1, 1, 0.5, -0.0, 1e-300, 1e300, 2**31, 2**32, 2**53, 2**63, 2**64, -(2**63), 10**40),
    *(10**400, 1.5, 1e17, True, None, "1", [], 3.0000000000000004),
)
PATTERNS = (
    *("(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(x+x+)+y", "^(([a-z])+.)+[A-Z]([a-z])+$", "(.*)*"),
    *("^(a{1000}){1000}$", "a{0,100000}", "^a{65536,}$", "^(a?){500}a{500}$", ".{2147483648}"),
    *("(?=a)b", "(?!a).", "(?<=a)b", r"\b", r"(a)\1", r"\p{L}+", r"\p{Nope}", r"\u{110000}"),
    *(r"\ud800", "[", "(", ")", "*", "a**", "[z-a]", "[^]", "[]", "(?i)a", "(?P<n>a)", r"\c", "\\"),
    *("^$", "$^", "a^", "$a", "^a|b$", r"^[\s\S]*$", r"[\D\d]", r"^\0$", "^(?:)$", "é", "[😀-😂]"),
    *("^" + "|".join(f"w{i}" for i in range(2000)) + "$", "(" * 300 + "a" + ")" * 300, "a" * 5000),
    *(r"^-?(0|[1-9]\d*)(\.\d+)?$", "^.{3,5}$", "[a-z]{1,3}", r"^\w+@\w+\.\w+$", '^[^"]*$'),
)
FORMATS = (
    *("date", "time", "date-time", "duration", "email", "idn-email", "hostname", "ipv4", "ipv6"),
    *("uri", "uri-reference", "iri", "uuid", "regex", "json-pointer", "byte", "", "nope", "path"),
)
SEEDS: tuple[dict[str, Any], ...] = (
    {
        "type": "object",
        "properties": {
            "level": {"enum": ["INFO", "WARN", "ERROR"]},
            "service": {"type": "string", "maxLength": 32, "pattern": "^[a-z-]+$"},
            "code": {"type": ["integer", "null"], "minimum": 100, "maximum": 599},
        },
        "required": ["level", "service"],
        "additionalProperties": False,
    },
    {
        "$defs": {"n": {"type": "object", "properties": {"c": {"$ref": "#/$defs/l"}}}},
        "$ref": "#/$defs/n",
        "description": "a tree",
    },
    {"type": "array", "items": {"type": "number", "multipleOf": 0.5}, "minItems": 1, "maxItems": 9},
    {"oneOf": [{"const": "a"}, {"type": "object", "required": ["k"]}, {"type": "integer"}]},
    {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
    {"type": "array", "prefixItems": [{"type": "string"}, {"const": 1}], "items": False},
    {"type": "array", "uniqueItems": True, "items": {"enum": ["a", "b", "c", 1, None]}},
    {"if": {"properties": {"t": {"const": 1}}}, "then": {"required": ["a"]}, "type": "object"},
    {"type": "object", "patternProperties": {"^x-": {"type": "boolean"}}, "minProperties": 1},
    {"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}}, {"required": ["a"]}]},
    {"type": "object", "propertyNames": {"pattern": "^[a-c]$"}, "maxProperties": 2},
    {"type": "object", "properties": {"q": {"type": ["string", "null"], "x-verbatim": True}}},
    {"not": {"type": ["string", "array", "object"]}},
    {"type": "array", "contains": {"const": 3}, "maxContains": 2, "items": {"type": "integer"}},
    {"type": "object", "dependentRequired": {"a": ["b"]}, "properties": {"a": {}, "b": {}}},
)
KEYWORDS = (
    *("type", "enum", "const", "properties", "required", "additionalProperties", "items"),
    *("prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "pattern", "minLength"),
    *("maxLength", "format", "minimum", "maximum", "exclusiveMinimum", "multipleOf", "allOf"),
    *("anyOf", "oneOf", "not", "if", "then", "else", "$ref", "$defs", "$id", "$anchor"),
    *("$dynamicRef", "dependentSchemas", "unevaluatedProperties", "propertyNames", "x-verbatim"),
    *("x-one-of-input", "x-evidence", "minProperties", "maxProperties", "definitions", "$schema"),
)
TYPES = ("string", "integer", "number", "boolean", "null", "array", "object", "any", 7)


def anything(pick: Random, depth: int = 3) -> Any:
    """A value of any shape; now and then a schema."""
    match pick.randrange(8 if depth else 4):
        case 0:
            return pick.choice(NUMBERS)
        case 1:
            return pick.choice(TRAPS)
        case 2:
            return pick.choice(TYPES)
        case 3:
            return pick.choice((True, False, None, {}, [], "#", "#/$defs/a", *PATTERNS[:8]))
        case 4:
            return [anything(pick, depth - 1) for _ in range(pick.randrange(4))]
        case 5:
            return {pick.choice(TRAPS): anything(pick, depth - 1) for _ in range(pick.randrange(3))}
        case _:
            return soup(pick, depth - 1)


def soup(pick: Random, depth: int = 4) -> dict[str, Any]:
    """Random keywords with random values, right ones and wrong ones."""
    out = {}
    for key in pick.sample(KEYWORDS, pick.randint(1, 5)):
        out[key] = _fitting(pick, key, depth) if pick.random() < 0.8 else anything(pick, depth)
    return out


def _fitting(pick: Random, key: str, depth: int) -> Any:
    inner: Callable[[], Any] = (lambda: soup(pick, depth - 1)) if depth > 0 else (lambda: True)
    if key in ("allOf", "anyOf", "oneOf", "prefixItems"):
        return [inner() for _ in range(pick.randint(1, 3))]
    if key in ("properties", "$defs", "definitions", "dependentSchemas"):
        return {pick.choice((*"abcd", pick.choice(TRAPS))): inner() for _ in range(3)}
    if key in ("not", "if", "then", "else", "items", "contains", "propertyNames"):
        return inner()
    if key in ("additionalProperties", "unevaluatedProperties", "uniqueItems", "x-verbatim"):
        return pick.choice((True, False))
    if key.startswith(("min", "max", "exclusive", "multiple")):
        return pick.choice((0, 1, 2, 5, 1000, *NUMBERS[:14]))
    fitting = {
        "type": lambda: pick.choice((*TYPES[:7], ["string", "null"], [*TYPES[:7]])),
        "enum": lambda: [anything(pick, 1) for _ in range(pick.randint(1, 4))],
        "required": lambda: pick.sample("abcd", pick.randint(0, 3)),
        "pattern": lambda: pick.choice(PATTERNS),
        "x-one-of-input": lambda: pick.choice(PATTERNS),
        "format": lambda: pick.choice(FORMATS),
        "$ref": lambda: pick.choice(("#", "#/$defs/a", "#/properties/b", "#/$defs/nope", "#x")),
    }
    return fitting[key]() if key in fitting else anything(pick, depth)


def nodes(value: Any) -> list[Any]:
    """Every object and list in a value, itself included."""
    parts = [*value.values()] if isinstance(value, dict) else value
    if not isinstance(value, dict | list):
        return []
    return [value, *(node for part in parts for node in nodes(part))]


def mutated(pick: Random) -> Any:
    """A valid schema with up to three changes of its structure."""
    schema = copy.deepcopy(pick.choice(SEEDS))
    for _ in range(pick.choice((0, 1, 1, 1, 2, 3))):
        full = [node for node in nodes(schema) if node]
        if not full:
            return schema
        node = pick.choice(full)
        _change(pick, node, pick.choice([*node] if isinstance(node, dict) else range(len(node))))
    return schema


def _change(pick: Random, node: Any, key: Any) -> None:
    match pick.randrange(7):
        case 0:
            del node[key]
        case 1:
            node[key] = anything(pick)
        case 2:
            node[key] = [node[key], copy.deepcopy(node[key])]
        case 3 if isinstance(node, dict):
            node[pick.choice((*KEYWORDS, *TRAPS))] = copy.deepcopy(node[key])
        case 4:
            node[key] = pick.choice(NUMBERS)
        case 5:
            node[key] = soup(pick, 2)
        case _:
            node[key] = {pick.choice(("allOf", "anyOf", "oneOf", "not", "items")): node[key]}


def cut_text(pick: Random, text: str) -> str:
    """Text with pieces cut, doubled, swapped or put in."""
    for _ in range(pick.randint(1, 3)):
        at = pick.randint(0, len(text))
        piece = pick.randint(1, 6)
        match pick.randrange(5):
            case 0:
                text = text[:at]
            case 1:
                text = text[:at] + text[at + piece :]
            case 2:
                text = text[: at + piece] + text[at:]
            case 3:
                text = text[:at] + text[at : at + piece][::-1] + text[at + piece :]
            case _:
                text = text[:at] + pick.choice((*TRAPS, *'{}[]"|()*+?:,')) + text[at:]
    return text


def broken_text(pick: Random) -> str:
    """The text of a valid schema, spoilt."""
    return cut_text(pick, json.dumps(pick.choice(SEEDS)))


def as_text(schema: Any) -> str:
    """JSON, half surrogates spelt as escapes."""
    return json.dumps(schema, ensure_ascii=True)
