"""A JSON Schema as columns, and JSON values as what goes into them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any, Literal, TypeAlias

from vedette.errors import SchemaError
from vedette.tasks.outline import resolve
from vedette.types import Json

from .target import checked_name

Kind: TypeAlias = Literal[
    "text", "integer", "number", "boolean", "date", "date-time", "time", "json"
]

_INTEGERS = range(-(2**63), 2**63)
_BY_TYPE: dict[str, Kind] = {
    "string": "text",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
}
_BY_FORMAT: dict[str, Kind] = {"date": "date", "date-time": "date-time", "time": "time"}


@dataclass(frozen=True, slots=True)
class Column:
    """A property of the schema: its name, what it holds, whether it can be null.

    `values` are those of an enum of texts. Objects, arrays and mixtures are `json`.
    """

    name: str
    kind: Kind
    nullable: bool
    values: tuple[str, ...] = ()


def columns_of(schema: dict[str, Any]) -> tuple[Column, ...]:
    """A column for each top-level property, in order.

    Raises `SchemaError` where there are none, or names that a database cannot tell apart.
    """
    root = resolve(schema, schema)
    properties = root.get("properties")
    if not isinstance(properties, dict) or not properties:
        raise SchemaError("a table needs a schema of an object with properties: they are columns")
    taken: dict[str, str] = {}
    for name in properties:
        checked_name(name, "column")
        if name.startswith("_"):
            raise SchemaError(
                f"the property {name!r} cannot be a column: those with _ in front are vedette's own"
            )
        other = taken.setdefault(name.casefold(), name)
        if other != name:
            raise SchemaError(f"the columns {other!r} and {name!r} differ only in their case")
    required = root.get("required", ())
    return tuple(
        _column(name, resolve(sub, schema), schema, is_required=name in required)
        for name, sub in properties.items()
    )


def _column(name: str, sub: dict[str, Any], root: dict[str, Any], *, is_required: bool) -> Column:
    kind, nullable = _kind(sub, root)
    values = _given(sub)
    texts = tuple(value for value in values if isinstance(value, str)) if kind == "text" else ()
    return Column(name, kind, nullable or not is_required, texts)


def _given(sub: dict[str, Any]) -> list[Json]:
    if "const" in sub:
        return [sub["const"]]
    values = sub.get("enum", [])
    return values if isinstance(values, list) else []


def _kind(sub: dict[str, Any], root: dict[str, Any], depth: int = 0) -> tuple[Kind, bool]:
    """What a property holds, and whether null is allowed; in doubt it is."""
    if values := _given(sub):
        return _kind_of_values(values), None in values
    branches = [resolve(one, root) for key in ("anyOf", "oneOf") for one in sub.get(key, ())]
    if branches and "type" not in sub and depth < 8:
        found = [_kind(one, root, depth + 1) for one in branches if one.get("type") != "null"]
        kinds = {kind for kind, _ in found}
        nullable = len(found) < len(branches) or any(null for _, null in found)
        return (kinds.pop() if len(kinds) == 1 else "json"), nullable
    given = sub.get("type")
    types = [given] if isinstance(given, str) else list(given or ())
    real = {kind for kind in types if kind != "null"}
    nullable = not types or "null" in types
    if real == {"integer", "number"}:
        return "number", nullable
    if len(real) != 1:
        return "json", nullable
    kind = _BY_TYPE.get(real.pop(), "json")
    if kind == "text":
        kind = _BY_FORMAT.get(sub.get("format", ""), "text")
    return kind, nullable


def _kind_of_values(values: list[Json]) -> Kind:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {str}:
        return "text"
    if kinds == {bool}:
        return "boolean"
    if kinds == {int}:
        return "integer"
    return "number" if kinds and kinds <= {int, float} else "json"


def stored(value: Json, column: Column) -> object:
    """The value as the column takes it. Raises `ValueError` for one that it cannot hold."""
    if value is None:
        return None
    convert = _CONVERT.get(column.kind)
    try:
        return value if convert is None else convert(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"{column.name}: {value!r} cannot be kept as {column.kind}: {error}"
        ) from error


def _integer(value: Any) -> int:
    number = int(value)
    if number != value or number not in _INTEGERS:
        raise ValueError("it is no integer of 64 bits")
    return number


def _date_time(value: Any) -> datetime:
    """In UTC: SQLite keeps no offset."""
    moment = datetime.fromisoformat(value)
    if moment.tzinfo is None:
        raise ValueError("it does not say its offset from UTC")
    return moment.astimezone(UTC)


def _time(value: Any) -> time:
    """In UTC where it has an offset: neither kind of column keeps one."""
    moment = time.fromisoformat(value)
    if moment.tzinfo is None:
        return moment
    return datetime.combine(date(2000, 1, 1), moment).astimezone(UTC).time()


_CONVERT: dict[Kind, Callable[[Any], object]] = {
    "integer": _integer,
    "number": float,
    "date": date.fromisoformat,
    "date-time": _date_time,
    "time": _time,
}
