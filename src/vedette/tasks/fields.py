"""`--fields "level:INFO|WARN|ERROR, service:span, message"`: a small schema on one line."""

from __future__ import annotations

import re

from vedette.errors import SchemaError
from vedette.types import Json

_NAME = re.compile(r"[^\W\d][\w.-]*")
_TYPES: dict[str, dict[str, Json]] = {
    "string": {"type": ["string", "null"]},
    "span": {"type": ["string", "null"], "x-verbatim": True},
    "int": {"type": ["integer", "null"]},
    "number": {"type": ["number", "null"]},
    "bool": {"type": ["boolean", "null"]},
    "date": {"type": ["string", "null"], "format": "date"},
    "strings": {"type": "array", "items": {"type": "string"}},
}


def schema_of_fields(spec: str) -> dict[str, Json]:
    """The JSON Schema of a field list.

    `name` is a string, `name:A|B|C` one of these texts, `name:TYPE` one of string, span (copied
    from the input), int, number, bool, date, strings. Everything may be null (`strings` empty).
    Raises `SchemaError` for a name or type that is none, or a name that is there twice.
    """
    properties: dict[str, Json] = {}
    for part in spec.split(","):
        name, colon, kind = (piece.strip() for piece in part.partition(":"))
        if not _NAME.fullmatch(name):
            raise SchemaError(
                f"the field list: {part.strip()!r} is not a field",
                hint='write "name", "name:type" or "name:A|B", separated by commas',
            )
        if name in properties:
            raise SchemaError(f"the field list: {name} is there twice")
        properties[name] = _field(name, kind if colon else "string")
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _field(name: str, kind: str) -> dict[str, Json]:
    if "|" in kind:
        values: list[Json] = [value.strip() for value in kind.split("|")]
        if "" in values or len(set(map(str, values))) != len(values):
            raise SchemaError(f"the field list: {name} has an empty or a repeated value: {kind}")
        return {"enum": [*values, None]}
    if kind not in _TYPES:
        raise SchemaError(
            f"the field list: {name} has the unknown type {kind!r}",
            hint=f"types are {', '.join(_TYPES)}, or values separated by |",
        )
    return dict(_TYPES[kind])
