"""The validator that has the last word on every value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsonschema_rs

from .report import refused


def validator(
    schema: Any, formats: Mapping[str, bool], registry: jsonschema_rs.Registry | None = None
) -> jsonschema_rs.Validator:
    """A validator that asserts these formats and no others. It never fetches anything.

    Raises `SchemaRefused` for what it does not take for a schema, `RecursionError` for one that
    is nested too deeply for it.
    """
    idle = {name: _always for name, asserted in formats.items() if not asserted}
    try:
        return jsonschema_rs.validator_for(
            schema,
            formats=idle,
            validate_formats=any(formats.values()),
            registry=registry,
            offline=True,
        )
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as error:
        # such as an $id that is no URI, which the meta-schemas let through
        raise refused(f"this is not a JSON Schema: {_reason(error)}") from error
    except ValueError as error:  # its way of saying so
        if "ecursion limit" not in str(error):
            raise
        raise RecursionError(str(error)) from error


def _always(value: str) -> bool:
    return True


def _reason(error: Exception) -> str:
    return str(getattr(error, "message", error)).split("\n", 1)[0][:300]
