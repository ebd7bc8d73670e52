"""Where verbatim values stand in the input."""

from __future__ import annotations

from typing import Any

from vedette.types import Json

from .outline import resolve


def spans_of(value: Json, schema: dict[str, Any], text: str) -> dict[str, Json]:
    """JSON pointer of each verbatim value -> [start, end) in characters, its first occurrence."""
    found: dict[str, Json] = {}
    _collect(value, schema, schema, text, "", found)
    return found


def _collect(
    value: Json, schema: Any, root: dict[str, Any], text: str, at: str, found: dict[str, Json]
) -> None:
    schema = resolve(schema, root)
    is_copied = schema.get("x-verbatim") is True or "x-one-of-input" in schema
    if is_copied and isinstance(value, str):
        start = text.find(value)
        found[at] = [start, start + len(value)] if start >= 0 else None
    elif isinstance(value, dict):
        for name, sub in value.items():
            key = name.replace("~", "~0").replace("/", "~1")
            _collect(
                sub, schema.get("properties", {}).get(name, {}), root, text, f"{at}/{key}", found
            )
    elif isinstance(value, list):
        for i, sub in enumerate(value):
            _collect(sub, schema.get("items", {}), root, text, f"{at}/{i}", found)
