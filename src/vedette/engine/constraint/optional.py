"""`anyOf` of a string and null, as one schema: the way that typed models say "or nothing"."""

from __future__ import annotations

from typing import Any

_MARKS = ("x-verbatim", "x-evidence", "x-one-of-input")


def with_null_inside(schema: Any) -> Any:
    """The schema with `anyOf: [marked field, null]` written as one field that takes null too."""
    if isinstance(schema, list):
        return [with_null_inside(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = schema.get("anyOf")
    if isinstance(parts, list) and len(parts) == 2 and {"type": "null"} in parts:
        other = next((part for part in parts if part != {"type": "null"}), None)
        if isinstance(other, dict) and any(mark in other for mark in _MARKS):
            rest = {key: value for key, value in schema.items() if key != "anyOf"}
            return {**rest, **_nullable(other)}
    return {
        key: value if key in ("enum", "const") else with_null_inside(value)
        for key, value in schema.items()
    }


def _nullable(field: dict[str, Any]) -> dict[str, Any]:
    out = dict(field)
    kinds = out.get("type")
    if isinstance(kinds, str | list):
        listed = [kinds] if isinstance(kinds, str) else kinds
        out["type"] = [*listed, *([] if "null" in listed else ["null"])]
    if "enum" in out and None not in out["enum"]:
        out["enum"] = [*out["enum"], None]
    return out
