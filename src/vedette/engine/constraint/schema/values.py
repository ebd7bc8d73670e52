"""JSON values: equality as JSON Schema has it, and the text that the grammar knows them by."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from vedette.engine.constraint.lark import LEAST_NUMBER
from vedette.json_text import ITEM_SEPARATOR, KEY_SEPARATOR
from vedette.types import Json

from .facts import Kind


def kind_of(value: Json) -> Kind:
    """Which kind of value this is."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def key(value: Json) -> str:
    """Equal for equal values, however they are written: 1 and 1.0, members in any order."""
    if isinstance(value, str):
        return f'"{value}'
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Json) -> Any:
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return value


def spelled(value: Json) -> str:
    """JSON as the grammar spells it: members as they stand, numbers without exponent."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return "[" + ITEM_SEPARATOR.join(map(spelled, value)) + "]"
    if isinstance(value, dict):
        pairs = (f"{spelled(n)}{KEY_SEPARATOR}{spelled(part)}" for n, part in value.items())
        return "{" + ITEM_SEPARATOR.join(pairs) + "}"
    if isinstance(value, float):
        value = _plain(value)
    if isinstance(value, float):
        return format(Decimal(repr(value)), "f")
    return json.dumps(value)


@dataclass(frozen=True, slots=True)
class ValuesShape:
    """These values and no others, kept by their JSON text."""

    texts: tuple[str, ...]

    @staticmethod
    def of(values: list[Json]) -> ValuesShape:
        """The shape of these values, each once."""
        return ValuesShape(tuple({key(value): spelled(value) for value in values}.values()))

    @property
    def values(self) -> list[Any]:
        """The values."""
        return [json.loads(text, parse_int=_number) for text in self.texts]


def _number(text: str) -> int | float:
    """An integer, as a float where the grammar engine holds no such integer."""
    value = int(text)
    return value if LEAST_NUMBER <= value < 2**64 else float(text)
