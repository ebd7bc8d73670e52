"""Which schemas OpenAI's strict mode takes."""

from __future__ import annotations

from typing import Any


def is_strict(schema: Any, *, is_root: bool = True) -> bool:
    """Whether each object requires all its properties and takes no others.

    That is what strict mode asks of a schema (Structured Outputs, "Supported schemas"). Servers
    that know no such mode ignore it.
    """
    if isinstance(schema, list):
        return all(is_strict(part, is_root=False) for part in schema)
    if not isinstance(schema, dict):
        return True
    if is_root and schema.get("type") != "object":
        return False
    if "properties" in schema or schema.get("type") == "object":
        names = schema.get("properties", {}).keys()
        if schema.get("additionalProperties") is not False or names != set(
            schema.get("required", ())
        ):
            return False
    parts = [schema.get("items"), schema.get("anyOf"), schema.get("prefixItems")]
    for key in ("properties", "$defs"):
        parts += schema.get(key, {}).values()
    return all(is_strict(part, is_root=False) for part in parts)
