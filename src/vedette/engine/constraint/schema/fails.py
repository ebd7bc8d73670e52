"""How a schema can fail: for each keyword, the ways in which a value breaks it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

from .facts import (
    ANY,
    EVERY_KIND,
    Assume,
    Contains,
    Elements,
    Fact,
    Keyword,
    Kind,
    Members,
    Only,
    Signed,
    Way,
    below,
    node,
)
from .here import Here, contains_of, elements_of, has, kinds_of, lacks, target_of
from .refs import OPEN_REF


def ways_to_fail(here: Here) -> list[Way]:
    """Every way in which a value can break the schema; empty if none can."""
    ways: list[Way] = []
    done: set[str] = set()
    for keyword in here.schema:
        if keyword in _FAILS and keyword not in done:
            done.add(keyword)
            ways += _FAILS[keyword](here, here.schema[keyword])
    return ways


def _of(kind: Kind) -> Only:
    return Only(frozenset({kind}))


def _fact(here: Here, kind: Kind | None, name: str, value: Any, keyword: str) -> Fact:
    return Fact(kind, name, value, Keyword(here.path, keyword), here.causes)


def _dropped(here: Here, kind: Kind | None, keyword: str) -> Fact:
    """The stand-in for a failure that has no form in the grammar."""
    why = f"the grammar has no form for a value that breaks {keyword}"
    return _fact(here, kind, "dropped", why, keyword)


def _not(here: Here, *steps: str | int) -> Assume:
    return Assume(Signed(below(here.path, *steps), False), frozenset(), here.causes)


def _does(here: Here, *steps: str | int) -> Assume:
    return Assume(Signed(below(here.path, *steps), True), frozenset(), here.causes)


def _type(here: Here, value: Any) -> list[Way]:
    kinds, integer = kinds_of(value)
    others = EVERY_KIND - kinds
    ways: list[Way] = [(Only(others),)] if others else []
    if integer:
        ways.append((_of("number"), _dropped(here, "number", "type")))
    return ways


def _enum(here: Here, value: Any) -> list[Way]:
    return [(_fact(here, None, "exclude", tuple(value), "enum"),)]


def _const(here: Here, value: Any) -> list[Way]:
    return [(_fact(here, None, "exclude", (value,), "const"),)]


def _bound(keyword: str, name: str, exclusive: bool) -> Callable[[Here, Any], list[Way]]:
    return lambda here, value: [
        (_of("number"), _fact(here, "number", name, (value, exclusive), keyword))
    ]


def _least(keyword: str, kind: Kind) -> Callable[[Here, Any], list[Way]]:
    def ways(here: Here, value: Any) -> list[Way]:
        return [(_of(kind), _fact(here, kind, "most", value - 1, keyword))] if value > 0 else []

    return ways


def _most(keyword: str, kind: Kind) -> Callable[[Here, Any], list[Way]]:
    return lambda here, value: [(_of(kind), _fact(here, kind, "least", value + 1, keyword))]


def _unsayable(keyword: str, kind: Kind) -> Callable[[Here, Any], list[Way]]:
    def ways(here: Here, value: Any) -> list[Way]:
        if keyword == "uniqueItems" and value is False:
            return []
        return [(_of(kind), _dropped(here, kind, keyword))]

    return ways


def _some_member(keyword: str) -> Callable[[Here, Any], list[Way]]:
    def ways(here: Here, value: Any) -> list[Way]:
        if value in (True, {}):
            return []
        least = _fact(here, "object", "least", 1, keyword)
        return [(_of("object"), least, _dropped(here, "object", keyword))]

    return ways


def _format(here: Here, value: Any) -> list[Way]:
    return [(_of("string"), _fact(here, "string", "no format", value, "format"))]


def _properties(here: Here, value: Any) -> list[Way]:
    ways: list[Way] = []
    for name in value:
        failing = Members({name: node(below(here.path, "properties", name), False)}, {}, ANY)
        fact = _fact(here, "object", "members", failing, "properties")
        ways.append((_of("object"), has(here, [name], "properties"), fact))
    return ways


def _required(here: Here, value: Any) -> list[Way]:
    return [(_of("object"), lacks(here, name, "required")) for name in value]


def _first_elements(here: Here, value: Any) -> list[Way]:
    elements, keyword, _ = elements_of(here)
    ways: list[Way] = []
    for n in range(len(elements.first)):
        failing = Elements((*[ANY] * n, node(below(here.path, keyword, n), False)), ANY)
        least = _fact(here, "array", "least", n + 1, keyword)
        ways.append((_of("array"), least, _fact(here, "array", "elements", failing, keyword)))
    return ways


def _items(here: Here, value: Any) -> list[Way]:
    if isinstance(value, list):
        return _first_elements(here, value)
    return _rest(here, "items")


def _additional_items(here: Here, value: Any) -> list[Way]:
    return _rest(here, "additionalItems") if isinstance(here.schema.get("items"), list) else []


def _rest(here: Here, keyword: str) -> list[Way]:
    elements, _, _ = elements_of(here)
    failing = node(below(here.path, keyword), False)
    if elements.first:
        least = _fact(here, "array", "least", len(elements.first) + 1, keyword)
        rest = here.schema[keyword]
        if rest is False:
            return [(_of("array"), least)]
        return [] if rest is True else [(_of("array"), least, _dropped(here, "array", keyword))]
    some = Contains(failing, 1, None)
    return [(_of("array"), _fact(here, "array", "contains", some, keyword))]


def _contains(here: Here, value: Any) -> list[Way]:
    stated = contains_of(here)
    ways: list[Way] = []
    if stated.least > 0:
        fewer = Contains(stated.match, 0, stated.least - 1)
        ways.append((_of("array"), _fact(here, "array", "contains", fewer, "contains")))
    if stated.most is not None:
        more = Contains(stated.match, stated.most + 1, None)
        ways.append((_of("array"), _fact(here, "array", "contains", more, "maxContains")))
    return ways


def _dependent(keyword: str) -> Callable[[Here, Any], list[Way]]:
    def ways(here: Here, value: Any) -> list[Way]:
        out: list[Way] = []
        for name, then in value.items():
            present = (_of("object"), has(here, [name], keyword))
            if isinstance(then, list):
                out += [(*present, lacks(here, other, keyword)) for other in then]
            else:
                out.append((*present, _not(here, keyword, name)))
        return out

    return ways


def _all_of(here: Here, value: Any) -> list[Way]:
    return [(_not(here, "allOf", n),) for n in range(len(value))]


def _any_of(here: Here, value: Any) -> list[Way]:
    return [tuple(_not(here, "anyOf", n) for n in range(len(value)))]


def _one_of(here: Here, value: Any) -> list[Way]:
    none: Way = tuple(_not(here, "oneOf", n) for n in range(len(value)))
    two: list[Way] = [
        (_does(here, "oneOf", a), _does(here, "oneOf", b))
        for a, b in combinations(range(len(value)), 2)
    ]
    return [none, *two]


def _negation(here: Here, value: Any) -> list[Way]:
    return [(_does(here, "not"),)]


def _if(here: Here, value: Any) -> list[Way]:
    ways: list[Way] = []
    if "then" in here.schema:
        ways.append((_does(here, "if"), _not(here, "then")))
    if "else" in here.schema:
        ways.append((_not(here, "if"), _not(here, "else")))
    return ways


def _reference(here: Here, value: Any) -> list[Way]:
    if value == OPEN_REF:
        return [(_dropped(here, None, "$dynamicRef"),)]
    return [(Assume(Signed(target_of(value), False), frozenset(), here.causes),)]


_FAILS: dict[str, Callable[[Here, Any], list[Way]]] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "minimum": _bound("minimum", "high", True),
    "exclusiveMinimum": _bound("exclusiveMinimum", "high", False),
    "maximum": _bound("maximum", "low", True),
    "exclusiveMaximum": _bound("exclusiveMaximum", "low", False),
    "multipleOf": _unsayable("multipleOf", "number"),
    "minLength": _least("minLength", "string"),
    "maxLength": _most("maxLength", "string"),
    "pattern": _unsayable("pattern", "string"),
    "format": _format,
    "minItems": _least("minItems", "array"),
    "maxItems": _most("maxItems", "array"),
    "uniqueItems": _unsayable("uniqueItems", "array"),
    "items": _items,
    "prefixItems": _first_elements,
    "additionalItems": _additional_items,
    "contains": _contains,
    "unevaluatedItems": _unsayable("unevaluatedItems", "array"),
    "required": _required,
    "minProperties": _least("minProperties", "object"),
    "maxProperties": _most("maxProperties", "object"),
    "properties": _properties,
    "patternProperties": _some_member("patternProperties"),
    "additionalProperties": _some_member("additionalProperties"),
    "propertyNames": _some_member("propertyNames"),
    "unevaluatedProperties": _some_member("unevaluatedProperties"),
    "dependentRequired": _dependent("dependentRequired"),
    "dependentSchemas": _dependent("dependentSchemas"),
    "dependencies": _dependent("dependencies"),
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _negation,
    "if": _if,
    "$ref": _reference,
    "$dynamicRef": _reference,
    "$recursiveRef": _reference,
}
