"""A form: a JSON Schema whose properties are questions, and what is known of the answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jsonschema_rs

from vedette.engine.constraint.json_schema import fault_of, schema_report
from vedette.errors import InputError, SchemaError
from vedette.json_text import json_text
from vedette.types import Json

from .outline import resolve

# What a form may say besides its fields. Anything else would relate fields to each other, and a
# form that is only partly filled in cannot be held to that.
_ROOT_KEYS = frozenset(
    (
        *("type", "properties", "required", "additionalProperties", "title", "description"),
        *("$schema", "$id", "$defs", "definitions", "$comment"),
    )
)


@dataclass(frozen=True)
class Form:
    """The fields of a form. Raises `SchemaError` for a schema that is no form."""

    schema: Mapping[str, Any]

    def __post_init__(self) -> None:
        fields = self.schema.get("properties")
        if self.schema.get("type", "object") != "object" or not isinstance(fields, dict):
            raise SchemaError(
                "a form is a schema of an object with properties",
                hint='write {"type": "object", "properties": {"name": {"title": "..."}}}',
            )
        if not fields:
            raise SchemaError("the form has no properties, so there is nothing to fill in")
        if self.schema.get("additionalProperties", False) is not False:
            raise SchemaError("a form has the properties that it declares and no others")
        extra = next((key for key in self.schema if key not in _ROOT_KEYS), None)
        if extra is not None:
            raise SchemaError(
                f"a form cannot have {extra!r} beside its properties",
                hint="say in each property what it may be",
            )
        stray = next((name for name in self.required if name not in fields), None)
        if stray is not None:
            raise SchemaError(f"the form requires {stray!r}, which is none of its properties")
        schema_report(self.schema)

    @property
    def fields(self) -> dict[str, Any]:
        """The schema of each field, in order."""
        fields: dict[str, Any] = self.schema["properties"]
        return fields

    @property
    def required(self) -> frozenset[str]:
        """Fields without which the form is not complete."""
        return frozenset(self.schema.get("required", ()))

    def question(self, name: str) -> str:
        """What is asked of a field: its title, else its description, else its name."""
        field = resolve(self.fields[name], dict(self.schema))
        text = field.get("title") or field.get("description")
        return " ".join(text.split()) if isinstance(text, str) and text.strip() else name

    def checked(self, known: Json, where: str) -> dict[str, Json]:
        """Known answers, found right for their fields; null means not known.

        Raises `InputError` with the field that is wrong.
        """
        if not isinstance(known, dict):
            raise InputError(f"{where} must be a JSON object of fields and values, not {known!r}")
        found: dict[str, Json] = {}
        for name, value in known.items():
            if name not in self.fields:
                raise InputError(
                    f"{where}: {name!r} is no field of the form",
                    hint=f"fields are {', '.join(self.fields)}",
                )
            if value is None:
                continue
            fault = self.fault({name: value})
            if fault is not None:
                raise InputError(f"{where}: the value of {name!r} does not fit: {fault}")
            found[name] = value
        return found

    def fault(self, answers: Mapping[str, Json]) -> str | None:
        """What is wrong with some answers; None if each fits its field."""
        fault = fault_of(self._alone, dict(answers))
        return None if fault is None else str(fault)

    @cached_property
    def _alone(self) -> jsonschema_rs.Validator:
        """For an object with some of the fields."""
        schema = {**self.schema, "required": []}
        return jsonschema_rs.validator_for(schema, validate_formats=True)

    def with_known(self, known: Mapping[str, Json]) -> dict[str, Any]:
        """The schema of an answer: known fields are what they are, the others may be null."""
        fields = {
            name: {"const": known[name]} if name in known else _or_null(field)
            for name, field in self.fields.items()
        }
        return {**self.schema, "type": "object", "properties": fields, "required": [*fields]}

    def text_of_known(self, known: Mapping[str, Json]) -> str:
        """The known answers in the order of the fields, as JSON."""
        return json_text({name: known[name] for name in self.fields if name in known})


def _or_null(field: Any) -> Any:
    kinds = field.get("type") if isinstance(field, dict) else None
    if kinds == "null" or (isinstance(kinds, list) and "null" in kinds):
        return field
    notes = {}
    if isinstance(field, dict):
        notes = {key: field[key] for key in ("title", "description") if key in field}
    return {**notes, "anyOf": [field, {"type": "null"}]}
