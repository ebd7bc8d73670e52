"""A JSON Schema as a small model should read it: a line a field, and one example answer."""

from __future__ import annotations

import math
from typing import Any

from vedette.json_text import json_text

MOST_DEPTH = 4  # schemas that contain themselves have no end of their own
_MOST_REFS = 16


def outline(schema: dict[str, Any]) -> str:
    """One line for each property, nested ones indented, down to `MOST_DEPTH` levels."""
    return "\n".join(_lines(resolve(schema, schema), schema, depth=0))


def _lines(schema: dict[str, Any], root: dict[str, Any], depth: int) -> list[str]:
    lines: list[str] = []
    for name, sub in schema.get("properties", {}).items():
        sub = resolve(sub, root)
        lines.append(f"{'  ' * depth}- {name}: {_describe(sub, root)}")
        if depth + 1 < MOST_DEPTH:
            for inner in _inner(sub, root):
                lines.extend(_lines(inner, root, depth + 1))
    return lines


def _inner(sub: dict[str, Any], root: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects that a property may hold: itself, its items, the branches of a choice."""
    places = [sub, *_branches(sub, root)]
    places += [resolve(place["items"], root) for place in places if "items" in place]
    return [place for place in places if place.get("properties")]


def _branches(sub: dict[str, Any], root: dict[str, Any]) -> list[dict[str, Any]]:
    keys = ("anyOf", "oneOf", "allOf")
    return [resolve(branch, root) for key in keys for branch in sub.get(key, ())]


def resolve(schema: Any, root: dict[str, Any]) -> dict[str, Any]:
    """The schema behind a local `$ref`; anything else as it is."""
    if not isinstance(schema, dict):
        return {}
    sub: dict[str, Any] = schema
    for _ in range(_MOST_REFS):
        ref = sub.get("$ref")
        if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
            break
        found: Any = root
        for step in ref.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            found = found.get(key, {}) if isinstance(found, dict) else {}
        rest = {key: value for key, value in sub.items() if key != "$ref"}
        sub = {**found, **rest} if isinstance(found, dict) else rest
    return sub


def _describe(sub: dict[str, Any], root: dict[str, Any]) -> str:
    kind = _kind(sub, root)
    text = sub.get("description") or sub.get("title") or ""
    return f"{kind}. {text}".strip() if text else kind


def _kind(sub: dict[str, Any], root: dict[str, Any], depth: int = 0) -> str:
    branches = _branches(sub, root) if "type" not in sub and depth < MOST_DEPTH else []
    if branches:
        return " or ".join(dict.fromkeys(_kind(branch, root, depth + 1) for branch in branches))
    if "const" in sub:
        return f"always {_json(sub['const'])}"
    if "enum" in sub:
        return "one of " + ", ".join(
            value if isinstance(value, str) else _json(value) for value in sub["enum"]
        )
    kinds = sub.get("type", "any value")
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    words = [
        f"{_KINDS.get(kind, kind)} ({sub['format']})"
        if kind == "string" and "format" in sub
        else _KINDS.get(kind, kind)
        for kind in kinds
    ]
    if sub.get("x-verbatim") is True or isinstance(sub.get("x-one-of-input"), str):
        words = ["copied from the text" if word == "text" else word for word in words]
    return " or ".join(words)


_KINDS = {
    "string": "text",
    "integer": "whole number",
    "boolean": "true or false",
    "array": "list",
}


def example_of(schema: dict[str, Any], root: dict[str, Any] | None = None, depth: int = 0) -> Any:
    """A made-up value of the schema's shape, within its bounds on length, size and count."""
    root = root or schema
    schema = resolve(schema, root)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type", "object" if "properties" in schema else None)
    branches = _branches(schema, root)
    if branches and kind is None and depth < 2 * MOST_DEPTH:
        is_deep = depth >= MOST_DEPTH
        ends = [branch for branch in branches if branch.get("type") == "null"] if is_deep else []
        return example_of([*ends, *branches][0], root, depth + 1)
    kind = kind if isinstance(kind, str) else (kind or ["string"])[0]
    if kind == "object":
        pairs = schema.get("properties", {})
        if depth >= MOST_DEPTH:
            pairs = {name: pairs[name] for name in schema.get("required", ()) if name in pairs}
        if depth >= 2 * MOST_DEPTH:
            pairs = {}
        return {name: example_of(sub, root, depth + 1) for name, sub in pairs.items()}
    if kind == "array":
        return _example_list(schema, root, depth)
    if kind == "string":
        return _example_text(schema)
    if kind in ("integer", "number"):
        return _example_number(schema, 1 if kind == "integer" else 1.5)
    return {"boolean": True, "null": None}.get(kind)


def _example_list(schema: dict[str, Any], root: dict[str, Any], depth: int) -> list[Any]:
    items, least = schema.get("items"), schema.get("minItems", 0)
    if not isinstance(items, dict) or (depth >= MOST_DEPTH and not least):
        return []
    return [example_of(items, root, depth + 1)] * min(
        max(1, least), schema.get("maxItems", least + 1)
    )


def _example_text(schema: dict[str, Any]) -> str:
    given = _FORMS.get(schema.get("format", ""))
    if given is not None:
        return given
    return "..."[: schema.get("maxLength")].ljust(schema.get("minLength", 0), ".")


_FORMS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "email": "name@example.com",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "ipv4": "192.0.2.1",
    "uri": "https://example.com/",
}


def _example_number(schema: dict[str, Any], usual: float) -> float:
    if "minimum" in schema and schema["minimum"] > usual:
        return (
            float(schema["minimum"]) if isinstance(usual, float) else math.ceil(schema["minimum"])
        )
    if "maximum" in schema and schema["maximum"] < usual:
        return (
            float(schema["maximum"]) if isinstance(usual, float) else math.floor(schema["maximum"])
        )
    return usual


def _json(value: Any) -> str:
    return json_text(value)
