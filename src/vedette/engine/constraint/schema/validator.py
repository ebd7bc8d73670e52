"""The validator that has the last word on every value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsonschema_rs


def validator(
    schema: Any, formats: Mapping[str, bool], registry: jsonschema_rs.Registry | None = None
) -> jsonschema_rs.Validator:
    """A validator that asserts these formats and no others. It never fetches anything."""
    idle = {name: _always for name, asserted in formats.items() if not asserted}
    return jsonschema_rs.validator_for(
        schema,
        formats=idle,
        validate_formats=any(formats.values()),
        registry=registry,
        offline=True,
    )


def _always(value: str) -> bool:
    return True
