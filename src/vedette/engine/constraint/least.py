"""How much a value must take at least, from its schema: what a single token can commit to."""

from __future__ import annotations

from typing import Any

from vedette.json_text import json_text

_ROUNDS = 20
_ENDLESS = 1_000_000


def largest_commitment_bytes(schema: dict[str, Any]) -> int:
    """The most bytes that any one place of a lowered schema needs for its shortest value.

    Once an answer has begun such a value, it has to write that much before it may end.
    """
    sizes = _Sizes(schema.get("$defs", {}))
    return max(sizes.of_all(schema), default=0)


def has_free_names(schema: Any) -> bool:
    """Whether some object may have names that are not declared: the grammar takes one twice."""
    if isinstance(schema, list):
        return any(map(has_free_names, schema))
    if not isinstance(schema, dict):
        return False
    kinds = schema.get("type", "object")
    is_object = "object" in ([kinds] if isinstance(kinds, str) else kinds)
    is_free = schema.get("additionalProperties", True) is not False or "patternProperties" in schema
    if is_object and is_free and not {"$ref", "anyOf", "enum", "const"} & schema.keys():
        return True
    inner = [schema.get(key) for key in ("items", "anyOf", "prefixItems")]
    named = [list(schema.get(key, {}).values()) for key in ("properties", "$defs")]
    return has_free_names([*inner, *named])


class _Sizes:
    """Bytes of the shortest value; definitions by rounds, so that recursion settles."""

    def __init__(self, definitions: dict[str, Any]) -> None:
        self._definitions = definitions
        self._known = dict.fromkeys(definitions, _ENDLESS)
        for _ in range(min(_ROUNDS, len(definitions) + 1)):
            for name, part in definitions.items():
                self._known[name] = min(self._known[name], self.of(part))

    def of(self, schema: Any) -> int:
        """Bytes of the shortest value of one schema."""
        if not isinstance(schema, dict):
            return 1 if schema else _ENDLESS
        if "$ref" in schema:
            return self._known.get(str(schema["$ref"]).removeprefix("#/$defs/"), 1)
        if "anyOf" in schema:
            return min(map(self.of, schema["anyOf"]), default=_ENDLESS)
        if "const" in schema:
            return len(json_text(schema["const"]).encode())
        if "enum" in schema:
            return min(
                (len(json_text(value).encode()) for value in schema["enum"]), default=_ENDLESS
            )
        kinds = schema.get("type", "integer")
        listed = [kinds] if isinstance(kinds, str) else kinds
        return min(self._of_kind(kind, schema) for kind in listed)

    def _of_kind(self, kind: str, schema: dict[str, Any]) -> int:
        least = {key: int(schema.get(key, 0)) for key in ("minProperties", "minItems")}
        if kind == "object":
            parts = schema.get("properties", {})
            rest = schema.get("additionalProperties", {})
            sizes = [
                len(json_text(name).encode()) + 4 + self.of(parts.get(name, rest))
                for name in schema.get("required", ())
            ]
            missing = max(0, least["minProperties"] - len(sizes))
            return min(_ENDLESS, 2 + sum(sizes) + 8 * missing)
        if kind == "array":
            first, rest = schema.get("prefixItems", []), schema.get("items", {})
            sizes = [
                2 + self.of(first[n] if n < len(first) else rest)
                for n in range(min(least["minItems"], 1000))
            ]
            return min(_ENDLESS, 2 + sum(sizes))
        if kind == "string":
            return 2 + int(schema.get("minLength", 0))
        return 4 if kind in ("null", "boolean") else 1

    def of_all(self, schema: Any) -> list[int]:
        """The sizes of a schema and of everything below it that can be met at all."""
        if isinstance(schema, list):
            return [size for part in schema for size in self.of_all(part)]
        if not isinstance(schema, dict):
            return []
        found = [size for size in (self.of(schema),) if size < _ENDLESS]
        for key in ("items", "additionalProperties", "anyOf", "prefixItems"):
            found += self.of_all(schema.get(key))
        for key in ("properties", "patternProperties", "$defs"):
            found += self.of_all(list(schema.get(key, {}).values()))
        return found
