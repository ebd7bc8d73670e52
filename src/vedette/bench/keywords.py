"""The schema keywords that only vedette knows, and schemas without them."""

from __future__ import annotations

from typing import Literal, TypeAlias

from vedette.types import Json

# Who is given what vedette's keywords say: only vedette, as a user of each would have it; the peer
# too, as far as plain JSON Schema can say it of each row; or neither.
Given: TypeAlias = Literal["ours", "both", "none"]

KEYWORDS = ("x-verbatim", "x-evidence", "x-one-of-input")
# Their keys are names, so that one may be spelt like a keyword; their values are schemas.
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_DATA = ("enum", "const", "default", "examples")


def plain_schema(schema: dict[str, Json]) -> dict[str, Json]:
    """The schema without them."""
    return _without(schema, set())


def keywords_in(schema: dict[str, Json]) -> tuple[str, ...]:
    """Those that stand anywhere in the schema."""
    found: set[str] = set()
    _without(schema, found)
    return tuple(keyword for keyword in KEYWORDS if keyword in found)


def _without(schema: dict[str, Json], found: set[str]) -> dict[str, Json]:
    out: dict[str, Json] = {}
    for key, value in schema.items():
        if key in KEYWORDS:
            found.add(key)
        elif key in _MAPS and isinstance(value, dict):
            out[key] = {name: _part(part, found) for name, part in value.items()}
        else:
            out[key] = value if key in _DATA else _part(value, found)
    return out


def _part(value: Json, found: set[str]) -> Json:
    if isinstance(value, dict):
        return _without(value, found)
    if isinstance(value, list):
        return [_part(element, found) for element in value]
    return value
