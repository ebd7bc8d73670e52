"""A lowered schema written out as Lark rules, as far as JSON alone cannot say it.

Objects on the way to a field that is copied from the input, and objects whose properties come in
any order, become rules; everything else stays a JSON Schema inside the grammar.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from vedette.errors import SchemaError
from vedette.json_text import ITEM_SEPARATOR, KEY_SEPARATOR, json_text

from .verbatim import Spans, has_verbatim, lark_literal

MOST_UNORDERED = 60
"""Properties of one object that can come in any order: a bit of a parameter for each."""

_COMMA = lark_literal(ITEM_SEPARATOR)

# What the written-out rules do not enforce is refused and not skipped.
_HELD = frozenset(
    (
        *("type", "properties", "required", "additionalProperties"),
        *("items", "minItems", "maxItems", "x-verbatim"),
    )
)


class Rules:
    """Writes the Lark grammar of one lowered schema over one input."""

    def __init__(
        self, input_text: str, json_options: Mapping[str, Any], *, any_order: bool = False
    ) -> None:
        self._spans = Spans(input_text)
        self._options = dict(json_options)
        self._any_order = any_order
        self._rules: list[str] = []
        self._definitions: Mapping[str, Any] = {}
        self._referred: dict[str, str] = {}  # names of $defs -> names of their rules

    def lark(self, schema: Mapping[str, Any]) -> str:
        """The whole grammar. Raises `SchemaError` for a schema it has no sound form for."""
        self._definitions = schema.get("$defs", {})
        start = self._value({key: part for key, part in schema.items() if key != "$defs"})
        return "\n".join([f"start: {start}", *self._rules]) + "\n"

    def _rule(self, body: str) -> str:
        name = f"r{len(self._rules)}"
        self._rules.append(f"{name}: {body}")
        return name

    def _needs_rules(self, schema: Any) -> bool:
        return has_verbatim(schema) or (self._any_order and _has_order(schema))

    def _value(self, schema: Any) -> str:
        if not isinstance(schema, dict):
            schema = {} if schema else {"enum": []}
        if "$ref" in schema:
            return self._reference(schema["$ref"])
        if not self._needs_rules(schema):
            whole = {**schema, "x-guidance": self._options}
            if b'"$ref"' in orjson.dumps(schema):
                if self._needs_rules(list(self._definitions.values())):
                    return self._written_out(schema)
                whole["$defs"] = self._definitions
            return f"%json {orjson.dumps(whole).decode()}"
        return self._written_out(schema)

    def _reference(self, reference: str) -> str:
        """The rule of a definition, written when it is first needed."""
        name = reference.removeprefix("#/$defs/")
        if name not in self._referred:
            self._referred[name] = f"d{len(self._referred)}"
            body = self._value(self._definitions[name])
            self._rules.append(f"{self._referred[name]}: {body}")
        return self._referred[name]

    def _written_out(self, schema: Mapping[str, Any]) -> str:
        if schema.get("x-verbatim") is True:
            return self._rule(self._spans.rule(schema, self._rules))
        asserted = {key for key in schema if not key.startswith("x-") or key == "x-verbatim"}
        if asserted == {"anyOf"}:
            return self._rule(" | ".join(self._value(part) for part in schema["anyOf"]))
        kinds = schema.get("type")
        if isinstance(kinds, list):
            return self._rule(" | ".join(self._value(_of_kind(schema, kind)) for kind in kinds))
        unheld = sorted(asserted - _HELD)
        where = "above an x-verbatim field" if has_verbatim(schema) else "in any order"
        if unheld:
            raise SchemaError(
                f"{', '.join(unheld)} cannot be enforced {where}",
                hint="keep to plain objects and arrays there",
            )
        if kinds == "object" and "properties" in schema:
            return self._object(schema, where)
        if kinds == "array" and isinstance(schema.get("items"), dict):
            return self._array(schema)
        raise SchemaError(
            f"only plain objects and arrays can be written {where}; this has "
            f"{', '.join(sorted(schema))}"
        )

    def _object(self, schema: Mapping[str, Any], where: str) -> str:
        """An object of its declared properties; an optional one may be left out."""
        required = set(schema.get("required", ()))
        parts = {name: sub for name, sub in schema["properties"].items() if sub is not False}
        unknown = required - parts.keys()
        if unknown:
            raise SchemaError(f"required property {min(unknown)!r} is not declared")
        if schema.get("additionalProperties", True) is not False:
            raise SchemaError(
                f"other properties than the declared ones cannot be written {where}",
                hint='say "additionalProperties": false',
            )
        pairs = {
            name: f"{lark_literal(json_text(name) + KEY_SEPARATOR)} {self._value(sub)}"
            for name, sub in parts.items()
        }
        if self._any_order and len(pairs) > 1:
            return self._in_any_order(pairs, required)
        return self._in_order(pairs, required)

    def _in_order(self, pairs: Mapping[str, str], required: set[str]) -> str:
        after_some = after_none = '""'
        for name, pair in reversed([*pairs.items()]):
            with_some = f"{_COMMA} {pair} {after_some}"
            with_none = f"{pair} {after_some}"
            if name not in required:
                with_some = f"{with_some} | {after_some}"
                with_none = f"{with_none} | {after_none}"
            after_some, after_none = self._rule(with_some), self._rule(with_none)
        return self._rule(f'"{{" {after_none} "}}"')

    def _in_any_order(self, pairs: Mapping[str, str], required: set[str]) -> str:
        """A parameter has a bit for each property that was written."""
        if len(pairs) > MOST_UNORDERED:
            raise SchemaError(
                f"an object has {len(pairs)} properties; at most {MOST_UNORDERED} can come in "
                "any order"
            )
        rules = [self._rule(pair) for pair in pairs.values()]
        n = len(self._rules)
        more, first = f"more{n}", f"first{n}"
        needed = [f"bit_set({i})" for i, name in enumerate(pairs) if name in required]
        following = [
            f"{_COMMA} {rule} {more}::set_bit({i}) %if bit_clear({i})"
            for i, rule in enumerate(rules)
        ]
        ending = f'"" %if {_all(needed)}' if needed else '""'
        self._rules.append(f"{more}::_: {' | '.join([ending, *following])}")
        beginning = [f"{rule} {more}::set_bit({i})" for i, rule in enumerate(rules)]
        self._rules.append(f"{first}::_: {' | '.join(beginning)}")
        empty = ' | "{}"' if not required else ""
        return self._rule(f'"{{" {first}::0 "}}"{empty}')

    def _array(self, schema: Mapping[str, Any]) -> str:
        low, high = int(schema.get("minItems", 0)), int(schema["maxItems"])
        if high == 0:
            return '"[]"'
        if low > high:
            raise SchemaError(f"minItems {low} is more than maxItems {high}")
        item = self._rule(self._value(schema["items"]))
        more = f"({_COMMA} {item}){{{max(low - 1, 0)},{high - 1}}}" if high > 1 else '""'
        return self._rule(f'"[" {item} {more} "]"' + (' | "[]"' if low == 0 else ""))


def _all(conditions: list[str]) -> str:
    """The conditions joined two by two, as llguidance takes them."""
    if len(conditions) == 1:
        return conditions[0]
    half = len(conditions) // 2
    return f"and({_all(conditions[:half])}, {_all(conditions[half:])})"


_KEYWORDS_OF = {
    "object": {"properties", "required", "additionalProperties", "patternProperties"}
    | {"minProperties", "maxProperties"},
    "array": {"items", "prefixItems", "minItems", "maxItems"},
    "string": {"minLength", "maxLength", "pattern", "format"},
    "number": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
}
_KEYWORDS_OF["integer"] = _KEYWORDS_OF["number"]


def _of_kind(schema: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """The part of a schema that is about one type."""
    others = set().union(*_KEYWORDS_OF.values()) - _KEYWORDS_OF.get(kind, set())
    return {**{key: part for key, part in schema.items() if key not in others}, "type": kind}


def _has_order(schema: Any) -> bool:
    """Whether an object with several properties stands anywhere in the schema."""
    if isinstance(schema, list):
        return any(map(_has_order, schema))
    if not isinstance(schema, dict):
        return False
    parts = schema.get("properties", {})
    inner = [schema.get(key) for key in ("items", "anyOf", "prefixItems", "additionalProperties")]
    patterns = schema.get("patternProperties", {})
    return len(parts) > 1 or _has_order([*parts.values(), *patterns.values(), *inner])
