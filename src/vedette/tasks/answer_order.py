"""The order in which the properties of an answer are written: that of its schema."""

from __future__ import annotations

from typing import Any

from vedette.types import Json

from .outline import resolve

_BRANCHES = ("anyOf", "oneOf", "allOf")
_MOST_DEPTH = 16


def in_order(value: Json, schema: dict[str, Any]) -> Json:
    """The value with the properties of its objects as the schema declares them, others last."""
    return _ordered(value, [schema], schema)


def _ordered(value: Json, places: list[dict[str, Any]], root: dict[str, Any]) -> Json:
    """`places` are the schemas that may say something of this value."""
    if isinstance(value, dict):
        declared = [place.get("properties", {}) for place in _all(places, root)]
        names = dict.fromkeys(name for properties in declared for name in properties)
        return {
            name: _ordered(value[name], [p[name] for p in declared if name in p], root)
            for name in (*(n for n in names if n in value), *(n for n in value if n not in names))
        }
    if isinstance(value, list):
        items = [place["items"] for place in _all(places, root) if "items" in place]
        return [_ordered(each, items, root) for each in value]
    return value


def _all(places: list[dict[str, Any]], root: dict[str, Any], depth: int = 0) -> list[Any]:
    """The schemas behind references, and the branches of their choices."""
    found: list[Any] = []
    for place in (resolve(place, root) for place in places):
        found.append(place)
        branches = [branch for key in _BRANCHES for branch in place.get(key, ())]
        if branches and depth < _MOST_DEPTH:
            found += _all(branches, root, depth + 1)
    return found
