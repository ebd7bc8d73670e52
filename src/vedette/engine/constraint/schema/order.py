"""A value with its members in the order in which the grammar writes them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jsonschema_rs
import orjson

from vedette.types import Json

from .here import target_of
from .values import key, kind_of


class Arranger:
    """Puts members in order: as the grammar schema declares them, then the others as they came.

    Where the schema has alternatives, the order is that of the first which the value meets.
    """

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema
        self._defs: Mapping[str, Any] = schema.get("$defs", {})
        self._valid = lru_cache(maxsize=None)(self._validator)

    def arranged(self, value: Json) -> Json:
        """The value in order; one that meets no alternative stays as it is."""
        return self._arranged(value, self._schema)

    def _arranged(self, value: Json, schema: Any) -> Json:
        if not isinstance(value, dict | list) or not isinstance(schema, dict):
            return value
        if "$ref" in schema:
            return self._arranged(value, self._defs[str(target_of(schema["$ref"])[1])])
        if "anyOf" in schema:
            return self._by_alternative(value, schema["anyOf"])
        if isinstance(value, list):
            first = schema.get("prefixItems", [])
            rest = schema.get("items", {})
            parts = [first[n] if n < len(first) else rest for n in range(len(value))]
            return [self._arranged(v, part) for v, part in zip(value, parts, strict=True)]
        return self._object(value, schema)

    def _by_alternative(self, value: Json, alternatives: list[Any]) -> Json:
        kind = kind_of(value)
        able = [part for part in alternatives if _may_be(part, kind)]
        for part in able:
            if len(able) == 1 or self._valid(orjson.dumps(part)).is_valid(value):
                return self._arranged(value, part)
        return value

    def _object(self, value: dict[str, Json], schema: Mapping[str, Any]) -> Json:
        named = schema.get("properties", {})
        declared = [*named, *(n for n in schema.get("required", ()) if n not in named)]
        names = [name for name in declared if name in value]
        names += [name for name in value if name not in declared]
        if "enum" in schema:  # members of a listed value stand as they were listed
            listed = [v for v in schema["enum"] if key(v) == key(value)]
            return listed[0] if listed else value
        out: dict[str, Json] = {}
        for name in names:
            out[name] = self._arranged(value[name], named.get(name, _rest(schema, name)))
        return out

    def _validator(self, source: bytes) -> jsonschema_rs.Validator:
        whole = {"allOf": [orjson.loads(source)], "$defs": dict(self._defs)}
        return jsonschema_rs.validator_for(whole, offline=True)


def _rest(schema: Mapping[str, Any], name: str) -> Any:
    for pattern, part in schema.get("patternProperties", {}).items():
        if jsonschema_rs.is_valid({"pattern": pattern}, name):
            return part
    return schema.get("additionalProperties", {})


def _may_be(schema: Any, kind: str) -> bool:
    if not isinstance(schema, dict):
        return False
    names = schema.get("type", kind)
    return kind in ([names] if isinstance(names, str) else names)
