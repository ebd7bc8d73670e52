"""Quantities with units: read, and converted into the unit that is wanted."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, partial
from importlib.resources import files

from vedette.types import Json

from .chinese import NUMERAL
from .numbers import json_number, number_of
from .verdict import Unsettled, ambiguous
from .words import plain

_SIGNIFICANT = 12  # digits of a converted number
_NUMBER = rf"[-+−]?(?:\d(?:[\d.,]|[' ](?=\d{{3}}(?!\d)))*|{NUMERAL.pattern})"
_UNIT = r"[^\d\s,;][^\d,;]*?(?<=[mt])[23](?![\d.,])|[^\d\s,;][^\d,;]*"  # m2, ft2 and the rest
_PART = re.compile(rf"[\s,]*({_NUMBER})\s*({_UNIT})")


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit by its symbol: `value` in it is `(value - zero) * factor` in the base unit."""

    symbol: str
    kind: str
    factor: Decimal
    zero: Decimal


@cache
def units() -> dict[str, Unit]:
    """Every unit of `units.toml` by its symbol."""
    text = files("vedette.tasks.clean").joinpath("units.toml").read_text("utf-8")
    found = {}
    for kind, table in tomllib.loads(text).items():
        for symbol, entry in table.items():
            if symbol != "base":
                zero = Decimal(entry.get("zero", "0"))
                found[symbol] = Unit(symbol, kind, Decimal(entry["is"]), zero)
    return found


@cache
def _names() -> dict[str, tuple[Unit, ...]]:
    text = files("vedette.tasks.clean").joinpath("units.toml").read_text("utf-8")
    found: dict[str, tuple[Unit, ...]] = {}
    for table in tomllib.loads(text).values():
        for symbol, entry in table.items():
            if symbol != "base":
                for name in {symbol, *entry["names"]}:
                    found[name] = (*found.get(name, ()), units()[symbol])
    return found


def clean_quantity(raw: str, decimal: str, wanted: str) -> Json:
    """A number in the unit `wanted`; without one `{"value": 1.8, "unit": "m"}` as written.

    Parts of one kind are added up (`5 ft 11 in`, `1 h 30 min`). Raises `Unsettled`.
    """
    text = plain(raw)
    target = units()[wanted] if wanted else None
    parts = _parts(text, decimal, target)
    unit = target or parts[0][1]
    total = sum((_converted(value, one, unit) for value, one in parts), Decimal(0))
    number = json_number(_rounded(total))
    return number if target else {"value": number, "unit": unit.symbol}


def _parts(text: str, decimal: str, target: Unit | None) -> list[tuple[Decimal, Unit]]:
    parts: list[tuple[Decimal, Unit]] = []
    end = 0
    kind = target.kind if target else None
    while end < len(text):
        found = _PART.match(text, end)
        if found is None:
            if re.fullmatch(r"[\d.,' ]+", text):
                raise Unsettled("no unit", ask=False)
            raise Unsettled("not a quantity")
        unit = _unit(found[2].strip(), kind)
        kind = unit.kind
        try:
            parts.append((number_of(found[1].strip(), decimal), unit))
        except Unsettled as why:
            raise why.mapped(partial(_reading, unit, target)) from None
        end = found.end()
    if not parts or (len(parts) > 1 and kind == "temperature"):
        raise Unsettled("not a quantity")
    return parts


def _reading(unit: Unit, target: Unit | None, value: Decimal) -> Json:
    """One of several readings of a number, in the unit that is wanted."""
    if target is None:
        return {"value": json_number(value), "unit": unit.symbol}
    return json_number(_rounded(_converted(value, unit, target)))


def _unit(name: str, kind: str | None) -> Unit:
    """The unit of a name; `kind` decides where several have it. Raises `Unsettled`."""
    exact = _names().get(name) or _names().get(name.rstrip("."))
    meant = exact or _names().get(name.casefold().rstrip("."), ())
    if not meant:
        raise Unsettled("not a quantity")
    fitting = [unit for unit in meant if kind in (None, unit.kind)]
    if not fitting:
        raise Unsettled(f"{name!r} is a unit of {meant[0].kind}, not of {kind}", ask=False)
    if len(fitting) > 1:
        raise ambiguous(*sorted(unit.symbol for unit in fitting))
    return fitting[0]


def _converted(value: Decimal, unit: Unit, target: Unit) -> Decimal:
    if unit == target:
        return value
    return (value - unit.zero) * unit.factor / target.factor + target.zero


def _rounded(value: Decimal) -> Decimal:
    return Decimal(f"{value:.{_SIGNIFICANT}g}")
