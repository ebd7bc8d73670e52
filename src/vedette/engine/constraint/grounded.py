"""Values that the input must bear out: `x-evidence` and `x-one-of-input`.

Both turn into an ordinary `enum` once the input is known, so they are enforced while decoding.
`"x-evidence": {"WARN": "(?i)\\\\bwarn"}` on an enum: a value with a pattern may only be given where
the pattern is found in the input; values without one are free. `"x-one-of-input": "pattern"` on a
string: the value is one of the pattern's matches in the input (its first group, if it has one),
of which the first `MAX_CANDIDATES` that keep to the field's length are taken.
Where nothing in the input qualifies, null is the answer, if the schema allows it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from vedette.errors import NothingQualifies, SchemaError

from .verbatim import has_verbatim

MAX_CANDIDATES = 200

_KEYWORDS = ("x-evidence", "x-one-of-input")
# Their keys are names, their values schemas: a property may be named like a keyword.
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_DATA = ("enum", "const", "default", "examples")


def reads_input(schema: Any) -> bool:
    """Whether what a field of the schema may be depends on the input."""
    return has_verbatim(schema) or has_grounding(schema)


def has_grounding(schema: Any) -> bool:
    """Whether a grounded field stands anywhere in the schema."""
    if isinstance(schema, list):
        return any(has_grounding(part) for part in schema)
    if not isinstance(schema, Mapping):
        return False
    if any(keyword in schema for keyword in _KEYWORDS):
        return True
    return any(
        any(has_grounding(part) for part in value.values())
        if key in _MAPS and isinstance(value, Mapping)
        else has_grounding(value)
        for key, value in schema.items()
        if key not in _DATA
    )


def ground(schema: Any, text: str) -> Any:
    """The schema with every grounded field turned into an enum for this input.

    Raises `SchemaError` for a pattern that is none, or a field that is left without any value.
    """
    if isinstance(schema, list):
        return [ground(part, text) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _MAPS and isinstance(value, Mapping):
            out[key] = {name: ground(part, text) for name, part in value.items()}
        elif key not in _KEYWORDS:
            out[key] = value if key in _DATA else ground(value, text)
    if "x-evidence" in schema:
        out = _evidenced(out, schema["x-evidence"], text)
    if "x-one-of-input" in schema:
        out = _matches(out, schema["x-one-of-input"], text)
    return out


def _evidenced(schema: dict[str, Any], evidence: object, text: str) -> dict[str, Any]:
    if "enum" not in schema or not isinstance(evidence, Mapping):
        raise SchemaError("x-evidence goes with an enum, as an object of value -> pattern")
    if not all(isinstance(pattern, str) for pattern in evidence.values()):
        raise SchemaError("x-evidence has a pattern that is no text")
    unknown = sorted(set(evidence) - set(map(str, schema["enum"])))
    if unknown:
        raise SchemaError(f"x-evidence names {unknown[0]!r}, which is not in the enum")
    kept = [
        value
        for value in schema["enum"]
        if str(value) not in evidence or _compiled(evidence[str(value)]).search(text)
    ]
    return _narrowed(schema, kept, "x-evidence")


def _matches(schema: dict[str, Any], pattern: object, text: str) -> dict[str, Any]:
    kinds = schema.get("type", "string")
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    if not isinstance(pattern, str) or not set(kinds) <= {"string", "null"}:
        raise SchemaError("x-one-of-input is a pattern on type string or [string, null]")
    others = sorted(_NOT_WITH_MATCHES & schema.keys())
    if others:
        raise SchemaError(
            f"x-one-of-input cannot be combined with {', '.join(others)}",
            hint='write it on "type": "string" or ["string", "null"]',
        )
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    found: dict[str | None, None] = {}
    for match in _compiled(pattern).finditer(text):
        value = match.group(1) if match.re.groups else match.group()
        if value and least <= len(value) and (most is None or len(value) <= most):
            found[value] = None
        if len(found) == MAX_CANDIDATES:
            break
    if "null" in kinds:
        found[None] = None
    rest = {key: value for key, value in schema.items() if key not in ("minLength", "maxLength")}
    return _narrowed(rest, list(found), "x-one-of-input")


# What would have to hold of every match as well, or hides whether null is allowed.
_NOT_WITH_MATCHES = frozenset(
    {"enum", "const", "x-verbatim", "pattern", "format", "anyOf", "oneOf", "allOf", "$ref", "not"}
)


def _narrowed(schema: dict[str, Any], values: list[Any], keyword: str) -> dict[str, Any]:
    if not values:
        raise NothingQualifies(
            f"{keyword}: nothing in the input qualifies, and the schema allows no null",
            hint="allow null for the field",
        )
    return {**schema, "enum": values}


def _compiled(pattern: object) -> re.Pattern[str]:
    try:
        return re.compile(str(pattern))
    except re.error as error:
        raise SchemaError(f"{pattern!r} is not a regular expression: {error}") from error
