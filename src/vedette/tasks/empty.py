"""The explicit empty answer: what an input without text gives, instead of a refusal."""

from __future__ import annotations

from typing import Any

import jsonschema_rs

from vedette.types import Json

from .outline import resolve


def empty_answer(schema: dict[str, Any], validator: jsonschema_rs.Validator) -> Json:
    """An object of nulls and empty lists if the schema allows one, else null.

    The caller marks the answer as empty, so that null is not mistaken for a value.
    """
    value = _empty(schema, schema, depth=0)
    return value if validator.is_valid(value) else None


def _empty(schema: Any, root: dict[str, Any], depth: int) -> Json:
    schema = resolve(schema, root)
    kinds = schema.get("type", "object" if "properties" in schema else None)
    kinds = [kinds] if isinstance(kinds, str) else kinds or ["null"]
    if "null" in kinds or depth > 8:
        return None
    if "object" in kinds:
        required = schema.get("required", ())
        return {
            name: _empty(sub, root, depth + 1)
            for name, sub in schema.get("properties", {}).items()
            if name in required
        }
    if "array" in kinds:
        return []
    return "" if kinds == ["string"] else None
