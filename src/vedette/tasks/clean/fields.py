"""A schema as fields to be cleaned: which rule each has, from where its value comes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Any, Self, cast

import jsonschema_rs

from vedette.engine.constraint.json_schema import fault_of, schema_report
from vedette.errors import CapabilityMissing, InputError, SchemaError
from vedette.tasks.outline import resolve
from vedette.types import Json

from .contacts import phone_countries
from .dates import Calendar, Order, zone_of
from .quantities import units
from .words import currency_codes

# Kind: the options it takes, and the JSON types of its values.
KINDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "text": ((), ("string",)),
    "date": (("order", "pivot"), ("string",)),
    "datetime": (("order", "pivot", "zone"), ("string",)),
    "number": (("decimal",), ("number", "integer")),
    "money": (("decimal", "currency"), ("object",)),
    "quantity": (("decimal", "unit"), ("number", "integer", "object")),
    "name": ((), ("string",)),
    "email": ((), ("string",)),
    "phone": (("country",), ("string",)),
    "country": ((), ("string",)),
    "boolean": ((), ("boolean",)),
    "choice": ((), ("string", "number", "integer", "boolean")),
}
OWN = ("x-clean", "x-from", "x-synonyms")
_NOT_HERE = ("x-verbatim", "x-one-of-input", "x-evidence")
_BY_FORMAT = {"date": "date", "date-time": "datetime", "email": "email", "idn-email": "email"}
_BY_TYPE = {"string": "text", "number": "number", "integer": "number", "boolean": "boolean"}
_NEEDS = {"babel": ("date", "datetime", "money", "country"), "phonenumbers": ("phone",)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """What holds for every field that does not say it itself; empty: not said.

    `order`: dmy, mdy or ymd. `pivot`: the last two-digit year that is 20xx. `decimal`: `.` or `,`.
    `currency`: ISO 4217. `country`: ISO 3166-1, of telephone numbers. `zone`: `Z` or `+01:00`.
    `unit`: a symbol of `units.toml`. Raises `InputError` for a value that none of them has.
    """

    order: str = ""
    pivot: int | None = None
    decimal: str = ""
    currency: str = ""
    country: str = ""
    zone: str = ""
    unit: str = ""

    def __post_init__(self) -> None:
        self._check("order", self.order, ("dmy", "mdy", "ymd"))
        self._check("decimal", self.decimal, (".", ","))
        self._check("unit", self.unit, tuple(units()))
        if self.pivot is not None and not (isinstance(self.pivot, int) and 0 <= self.pivot <= 99):
            raise InputError(f"pivot is {self.pivot!r}; it must be a year from 0 to 99")
        for name, length in (("currency", 3), ("country", 2)):
            code = getattr(self, name)
            if code and not (len(code) == length and code.isalpha() and code.isupper()):
                raise InputError(f"{name} is {code!r}; it must be a code of {length} capitals")
        if self.zone:
            try:
                zone_of(self.zone)
            except ValueError as error:
                raise InputError(f"zone is {self.zone!r}; write Z or +01:00") from error

    @staticmethod
    def _check(name: str, value: str, allowed: tuple[str, ...]) -> None:
        if value and value not in allowed:
            raise InputError(f"{name} is {value!r}; it must be one of {', '.join(allowed)}")

    @property
    def given(self) -> dict[str, str | int]:
        """What is said."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in found.items() if value not in ("", None)}

    @property
    def calendar(self) -> Calendar:
        """For dates."""
        return Calendar(cast(Order, self.order), self.pivot, self.zone)

    @classmethod
    def of(cls, given: Mapping[str, str | int]) -> Self:
        """From names and values. Raises `InputError` for a name that is none."""
        known = [one.name for one in fields(cls)]
        wrong = next((name for name in given if name not in known), None)
        if wrong is not None:
            raise InputError(f"{wrong!r} is no default", hint=f"there are {', '.join(known)}")
        return cls(**cast(dict[str, Any], dict(given)))


@dataclass(frozen=True)
class Field:
    """One property: its rule, its options, and what its value must be."""

    name: str
    source: str
    kind: str
    options: Defaults
    schema: Mapping[str, Any]
    validator: jsonschema_rs.Validator
    required: bool
    synonyms: Mapping[str, tuple[str, ...]]
    assumes: bool = True
    """Whether a currency or zone that is not written may be taken from the options."""

    @property
    def choices(self) -> tuple[Json, ...]:
        """What a `choice` may be; null is no choice of anybody's."""
        values = self.schema.get("enum", [self.schema["const"]] if "const" in self.schema else [])
        return tuple(value for value in values if value is not None)

    @property
    def is_whole(self) -> bool:
        """Whether a number may have no fraction."""
        return "number" not in _types(self.schema) and "integer" in _types(self.schema)

    @property
    def without_assumptions(self) -> Field:
        """The field for a part of a value: what the part does not say may stand beside it."""
        return replace(self, assumes=False)

    def fault(self, value: Json) -> str | None:
        """What the schema has against a value; None if it fits."""
        fault = fault_of(self.validator, {self.name: value})
        return None if fault is None else fault.message


def read_fields(schema: Mapping[str, Any], defaults: Defaults) -> tuple[Field, ...]:
    """The fields of a schema, in order.

    Raises `SchemaError` for a schema that does not say what is to be done, `InputError` for a
    default that no field could use, `CapabilityMissing` where a rule's library is not installed.
    """
    properties = schema.get("properties")
    if schema.get("type", "object") != "object" or not isinstance(properties, dict):
        raise SchemaError("what is to be cleaned is a schema of an object with properties")
    if not properties:
        raise SchemaError("the schema has no properties, so there is nothing to clean")
    for name in schema.get("required", ()):
        if name not in properties:
            raise SchemaError(f"required has {name!r}, which is no property of the schema")
    schema_report(schema)
    validator = jsonschema_rs.validator_for({**schema, "required": []}, validate_formats=True)
    found = tuple(_field(name, schema, defaults, validator) for name in properties)
    used = {option for field in found for option in KINDS[field.kind][0]}
    idle = next((option for option in defaults.given if option not in used), None)
    if idle is not None:
        raise InputError(f"{idle} is given, but no field of the schema can use it")
    for library, kinds in _NEEDS.items():
        needing = next((field for field in found if field.kind in kinds), None)
        if needing is not None and find_spec(library) is None:
            raise CapabilityMissing(
                f"{needing.name!r} is a {needing.kind}, which needs {library}",
                hint="pip install 'vedette[clean]'",
            )
    for field in found:
        _check_codes(field)
    return found


def _check_codes(field: Field) -> None:
    """Raise `InputError` for a currency or country that there is not."""
    currency, country = field.options.currency, field.options.country
    if field.kind == "money" and currency and currency not in currency_codes():
        raise InputError(f"currency is {currency!r}, which is no code of ISO 4217")
    if field.kind == "phone" and country and country not in phone_countries():
        raise InputError(
            f"country is {country!r}, which is no country with telephone numbers",
            hint="write its code of ISO 3166-1, as in GB",
        )


def _field(
    name: str, schema: Mapping[str, Any], defaults: Defaults, validator: jsonschema_rs.Validator
) -> Field:
    own = resolve(schema["properties"][name], dict(schema))
    _check_keywords(name, own)
    asked = own.get("x-clean")
    options = dict(asked) if isinstance(asked, dict) else {"as": asked} if asked else {}
    kind = options.pop("as", None) or _kind_of(name, own)
    if kind not in KINDS:
        raise _unknown(name, "x-clean", str(kind), tuple(KINDS))
    allowed, types = KINDS[kind]
    for option in options:
        if option not in allowed:
            raise _unknown(name, f"an option of {kind}", option, allowed)
    stated = _types(own) - {"null"}
    if stated and not stated & set(types):
        raise SchemaError(f"{name!r} is a {kind}, which is {types[0]}, not {sorted(stated)[0]}")
    if kind == "choice" and "enum" not in own and "const" not in own:
        raise SchemaError(f"{name!r} is a choice, but has no enum")
    source = own.get("x-from", name)
    if not isinstance(source, str) or not source:
        raise SchemaError(f"{name!r}: x-from must be the name of a field")
    usable = {option: value for option, value in defaults.given.items() if option in allowed}
    try:
        settings = replace(Defaults(), **{**usable, **options})
    except (InputError, TypeError) as error:
        raise SchemaError(f"{name!r}: {getattr(error, 'message', error)}") from error
    return Field(
        name=name,
        source=source,
        kind=kind,
        options=settings,
        schema=own,
        validator=validator,
        required=name in schema.get("required", ()),
        synonyms=_synonyms(name, own),
    )


def _check_keywords(name: str, own: Mapping[str, Any]) -> None:
    for keyword in own:
        if keyword in _NOT_HERE:
            raise SchemaError(f"{name!r}: {keyword} has no effect in clean", hint="leave it out")
        if keyword.startswith("x-") and keyword not in OWN:
            close = get_close_matches(keyword, OWN, n=1, cutoff=0.75)
            if close:
                raise SchemaError(
                    f"{name!r}: {keyword!r} is no keyword", hint=f"is {close[0]} meant?"
                )
    if "x-synonyms" in own and "enum" not in own and "const" not in own:
        raise SchemaError(f"{name!r}: x-synonyms says nothing without an enum")


def _kind_of(name: str, own: Mapping[str, Any]) -> str:
    if "enum" in own or "const" in own:
        return "choice"
    if own.get("format") in _BY_FORMAT:
        return _BY_FORMAT[own["format"]]
    types = _types(own) - {"null"}
    kinds = {_BY_TYPE[one] for one in types if one in _BY_TYPE}
    if len(kinds) == 1 and len(types) == sum(one in _BY_TYPE for one in types):
        return kinds.pop()
    if not types:
        raise SchemaError(f"{name!r} does not say what it is", hint="give it a type or x-clean")
    raise SchemaError(f"{name!r}: there is no rule for the type {' or '.join(sorted(types))}")


def _types(own: Mapping[str, Any]) -> set[str]:
    kinds = own.get("type", [])
    return {kinds} if isinstance(kinds, str) else set(kinds)


def _synonyms(name: str, own: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    given = own.get("x-synonyms", {})
    choices = {str(value) for value in own.get("enum", [own.get("const")])}
    if not isinstance(given, dict):
        raise SchemaError(f"{name!r}: x-synonyms must be an object of value and list of words")
    for value, words in given.items():
        if value not in choices:
            raise SchemaError(f"{name!r}: x-synonyms has {value!r}, which is not in the enum")
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise SchemaError(f"{name!r}: the synonyms of {value!r} must be a list of words")
    return {value: tuple(words) for value, words in given.items()}


def _unknown(name: str, what: str, given: str, known: tuple[str, ...]) -> SchemaError:
    close = get_close_matches(given, known, n=1)
    hint = f"is {close[0]} meant?" if close else f"there are {', '.join(known) or 'none'}"
    return SchemaError(f"{name!r}: {given!r} is not {what} that is known", hint=hint)
