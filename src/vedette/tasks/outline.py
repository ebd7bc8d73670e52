"""A JSON Schema as a small model should read it: a line a field, and one example answer."""

from __future__ import annotations

from typing import Any

import orjson


def outline(schema: dict[str, Any], *, indent: str = "") -> str:
    """One line for each property, nested ones indented."""
    lines: list[str] = []
    for name, sub in schema.get("properties", {}).items():
        sub = resolve(sub, schema)
        lines.append(f"{indent}- {name}: {_describe(sub)}")
        inner = sub.get("items") if isinstance(sub.get("items"), dict) else sub
        inner = resolve(inner or {}, schema)
        if inner.get("properties"):
            lines.append(outline(_with_defs(inner, schema), indent=indent + "  "))
    return "\n".join(lines)


def resolve(sub: Any, root: dict[str, Any]) -> dict[str, Any]:
    """The schema behind a local `$ref`, one step; anything else as it is."""
    if not isinstance(sub, dict):
        return {}
    ref = sub.get("$ref")
    if isinstance(ref, str) and ref.startswith("#/"):
        found: Any = root
        for step in ref[2:].split("/"):
            key = step.replace("~1", "/").replace("~0", "~")
            found = found.get(key, {}) if isinstance(found, dict) else {}
        rest = {key: value for key, value in sub.items() if key != "$ref"}
        return {**found, **rest} if isinstance(found, dict) else rest
    return sub


def _with_defs(sub: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    return {**{key: root[key] for key in ("$defs", "definitions") if key in root}, **sub}


def _describe(sub: dict[str, Any]) -> str:
    kind = _kind(sub)
    text = sub.get("description") or sub.get("title") or ""
    return f"{kind}. {text}".strip() if text else kind


def _kind(sub: dict[str, Any]) -> str:
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
    """A made-up value of the schema's shape."""
    root = root or schema
    schema = resolve(schema, root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    for key in ("anyOf", "oneOf"):
        if schema.get(key):
            return example_of(schema[key][0], root, depth)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = kind if isinstance(kind, str) else kind[0]
    if kind == "object":
        pairs = schema.get("properties", {}) if depth < 4 else {}
        return {name: example_of(sub, root, depth + 1) for name, sub in pairs.items()}
    if kind == "array":
        items = schema.get("items")
        return [example_of(items, root, depth + 1)] if isinstance(items, dict) else []
    if kind == "string":
        return {"date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z"}.get(
            schema.get("format", ""), "..."
        )
    return {"integer": 1, "number": 1.5, "boolean": True, "null": None}.get(kind)


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
