"""How often a validator comes back to one value: schemas that double at each level are refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .dialect import Path
from .here import target_of
from .refs import OPEN_REF, Bundle
from .report import refused

MOST_VISITS = 20_000
"""Subschemas that one value may be held against, counted as often as they are come back to."""

_ONE = ("not", "if", "then", "else")
_MANY = ("allOf", "anyOf", "oneOf")
_NAMED = ("dependentSchemas", "dependencies")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


def check_visits(bundle: Bundle) -> None:
    """Raise `SchemaRefused` for a schema under which a single value would take too many visits.

    The last word on every answer is a validator's, which follows each reference each time.
    """
    counts: dict[Path, int] = {}
    for path in bundle.paths():
        if _visits(bundle, path, counts) > MOST_VISITS:
            raise refused(
                f"its alternatives and references lead to more than {MOST_VISITS:,} subschemas "
                "for a single value",
                pointer=str(bundle.origin(path)),
                hint="refer to each definition once",
            )


def _visits(bundle: Bundle, path: Path, counts: dict[Path, int]) -> int:
    """Subschemas that a value is held against at this path; a way back to itself counts once."""
    if path in counts:
        return counts[path]
    counts[path] = 1
    total = 1
    schema = bundle.at(path)
    if isinstance(schema, dict):
        for onward in _onward(path, schema):
            total += _visits(bundle, onward, counts)
    counts[path] = min(total, MOST_VISITS + 1)
    return counts[path]


def _onward(path: Path, schema: dict[str, Any]) -> Iterator[Path]:
    """The subschemas that the same value is held against next."""
    for key in _ONE:
        if isinstance(schema.get(key), dict):
            yield (*path, key)
    for key in _MANY:
        yield from ((*path, key, n) for n in range(len(schema.get(key, ()))))
    for key in _NAMED:
        parts = schema.get(key, {})
        yield from ((*path, key, name) for name, part in parts.items() if isinstance(part, dict))
    for key in _REFERENCES:
        if schema.get(key, OPEN_REF) != OPEN_REF:
            yield target_of(schema[key])
