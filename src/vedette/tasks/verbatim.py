"""Declaring fields of a schema verbatim from outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vedette.errors import SchemaError


def mark_verbatim(schema: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The schema with `"x-verbatim": true` on these top-level properties.

    Raises `SchemaError` for a name that is not a property.
    """
    properties = dict(schema.get("properties", {}))
    for name in names:
        if name not in properties:
            raise SchemaError(
                f"--verbatim: the schema has no property {name!r}",
                hint=f"it has {', '.join(properties) or 'none'}",
            )
        sub = properties[name]
        properties[name] = {**(sub if isinstance(sub, dict) else {}), "x-verbatim": True}
    return {**schema, "properties": properties}
