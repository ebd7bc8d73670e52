"""What each keyword says about a value when its schema holds."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

from .case import Seen, Unevaluated
from .facts import (
    Assume,
    Keyword,
    Kind,
    Only,
    Scope,
    Signed,
    Way,
    below,
    node,
)
from .here import Here, contains_of, elements_of, has, kinds_of, lacks, members_of, target_of
from .refs import OPEN_REF

MAX_CASES = 256  # of a node, beyond which choices are left out
_MAX_TRACKED = 4  # alternatives of an anyOf of which every combination is looked at


def take(here: Here) -> None:
    """Add everything that the schema says to the case, in the order in which it is written."""
    inner = here.scopes
    for keyword, kind in _UNEVALUATED:
        if keyword in here.schema:
            scope: Scope = (here.path, kind)
            here.case.seen.setdefault(scope, Seen())
            inner |= {scope}
            source = Keyword(here.path, keyword)
            here.case.unevaluated.append(Unevaluated(scope, source, here.scopes))
    here.scopes = inner
    done: set[str] = set()
    for keyword in here.schema:
        group = _GROUP.get(keyword, keyword)
        if group not in done and group in _HOLDS:
            done.add(group)
            _HOLDS[group](here)


def _type(here: Here) -> None:
    kinds, integer = kinds_of(here.schema["type"])
    here.case.kinds &= kinds
    here.case.integer |= integer


def _values(keyword: str) -> Callable[[Here], None]:
    def add(here: Here) -> None:
        value = here.schema[keyword]
        if here.case.values is None:
            here.case.values = list(value) if keyword == "enum" else [value]

    return add


def _plain(keyword: str, kind: Kind, name: str) -> Callable[[Here], None]:
    return lambda here: here.fact(kind, name, here.schema[keyword], keyword)


def _bound(keyword: str, name: str, exclusive: bool) -> Callable[[Here], None]:
    return lambda here: here.fact("number", name, (here.schema[keyword], exclusive), keyword)


def _members(here: Here) -> None:
    members = members_of(here)
    present = [keyword for keyword in _MEMBER_KEYWORDS if keyword in here.schema]
    here.fact("object", "members", members, present[0])
    for seen in here.seen():
        seen.names.update(dict.fromkeys(members.named))
        seen.patterns.update(dict.fromkeys(members.patterns))
        seen.all_members |= "additionalProperties" in here.schema


def _elements(here: Here) -> None:
    elements, first_keyword, rest_keyword = elements_of(here)
    keyword = rest_keyword if elements.rest else first_keyword
    if elements.first or elements.rest:
        here.fact("array", "elements", elements, keyword)
    for seen in here.seen():
        seen.first_elements = max(seen.first_elements, len(elements.first))
        seen.all_elements |= rest_keyword in here.schema


def _contains(here: Here) -> None:
    here.fact("array", "contains", contains_of(here), "contains")
    for seen in here.seen():
        seen.unclear = True


def _all_of(here: Here) -> None:
    for n in range(len(here.schema["allOf"])):
        here.assume(here.case, here.holds("allOf", n))


def _any_of(here: Here) -> None:
    count = len(here.schema["anyOf"])
    if not here.scopes:
        return here.choose("anyOf", [(here.holds("anyOf", n),) for n in range(count)])
    if count > _MAX_TRACKED:  # which of them hold decides what has been evaluated
        for seen in here.seen():
            seen.unclear = True
        return here.choose("anyOf", [(here.holds("anyOf", n),) for n in range(count)])
    # That the others fail need not be said: if one held, there would only be less unevaluated.
    ways: list[Way] = [
        tuple(here.holds("anyOf", n) for n in chosen)
        for size in range(count, 0, -1)
        for chosen in combinations(range(count), size)
    ]
    return here.choose("anyOf", ways)


def _one_of(here: Here) -> None:
    paths = [below(here.path, "oneOf", n) for n in range(len(here.schema["oneOf"]))]
    # With too many of them the choice is left out, whatever its ways are.
    is_left_out = len(paths) > MAX_CASES
    ways: list[Way] = []
    for n, path in enumerate(paths):
        others = [] if is_left_out else [other for other in paths if other != path]
        rivals = here.overlapping(path, others)
        failing = (here.fails("oneOf", "oneOf", rival[-1]) for rival in rivals)
        ways.append((here.holds("oneOf", n), *failing))
    here.choose("oneOf", ways)


def _not(here: Here) -> None:
    here.assume(here.case, here.fails("not", "not"))


def _if(here: Here) -> None:
    branches = {"then", "else"} & here.schema.keys()
    if not branches and not here.scopes:
        return
    yes: Way = (here.holds("if"),)
    no: Way = (here.fails("if", "if"),)
    yes += (here.holds("then"),) if "then" in branches else ()
    no += (here.holds("else"),) if "else" in branches else ()
    here.choose("if", [yes, no])


def _reference(keyword: str) -> Callable[[Here], None]:
    def add(here: Here) -> None:
        target = here.schema[keyword]
        if target == OPEN_REF:
            why = "what it means depends on the way there"
            here.fact(None, "dropped", why, keyword)
            for seen in here.seen():
                seen.unclear = True
            return
        path = target_of(target)
        here.assume(here.case, Assume(Signed(path, True), here.scopes, here.causes))

    return add


def _dependent(keyword: str) -> Callable[[Here], None]:
    def add(here: Here) -> None:
        for name, then in here.schema[keyword].items():
            ways: list[Way] = [(lacks(here, name, keyword),)]
            objects = Only(frozenset({"object"}))
            if isinstance(then, list):
                ways.append((objects, has(here, [name, *then], keyword)))
            elif then is not False:
                ways.append((objects, has(here, [name], keyword), here.holds(keyword, name)))
            here.choose(keyword, ways)

    return add


def _names(here: Here) -> None:
    here.fact("object", "names", node(below(here.path, "propertyNames")), "propertyNames")


def _unique(here: Here) -> None:
    if here.schema["uniqueItems"] is True:
        here.fact("array", "unique", True, "uniqueItems")


# The first that is there stands for all of them; patterns first, as only they can be left out.
_MEMBER_KEYWORDS = ("patternProperties", "properties", "additionalProperties")
_UNEVALUATED: tuple[tuple[str, Kind], ...] = (
    ("unevaluatedProperties", "object"),
    ("unevaluatedItems", "array"),
)
_GROUP = {
    "patternProperties": "properties",
    "additionalProperties": "properties",
    "prefixItems": "items",
    "additionalItems": "items",
}
_HOLDS: dict[str, Callable[[Here], None]] = {
    "type": _type,
    "enum": _values("enum"),
    "const": _values("const"),
    "minimum": _bound("minimum", "low", False),
    "exclusiveMinimum": _bound("exclusiveMinimum", "low", True),
    "maximum": _bound("maximum", "high", False),
    "exclusiveMaximum": _bound("exclusiveMaximum", "high", True),
    "multipleOf": _plain("multipleOf", "number", "multiple"),
    "minLength": _plain("minLength", "string", "least"),
    "maxLength": _plain("maxLength", "string", "most"),
    "pattern": _plain("pattern", "string", "pattern"),
    "format": _plain("format", "string", "format"),
    "minItems": _plain("minItems", "array", "least"),
    "maxItems": _plain("maxItems", "array", "most"),
    "uniqueItems": _unique,
    "items": _elements,
    "contains": _contains,
    "required": _plain("required", "object", "required"),
    "minProperties": _plain("minProperties", "object", "least"),
    "maxProperties": _plain("maxProperties", "object", "most"),
    "properties": _members,
    "propertyNames": _names,
    "dependentRequired": _dependent("dependentRequired"),
    "dependentSchemas": _dependent("dependentSchemas"),
    "dependencies": _dependent("dependencies"),
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
    "$ref": _reference("$ref"),
    "$dynamicRef": _reference("$dynamicRef"),
    "$recursiveRef": _reference("$recursiveRef"),
}
