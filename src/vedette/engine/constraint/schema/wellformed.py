"""Whether something is a JSON Schema at all."""

from __future__ import annotations

from typing import Any

import jsonschema_rs

from vedette.errors import SchemaError

from .dialect import Dialect, pointer


def check_well_formed(schema: Any, dialect: Dialect, document: str = "") -> None:
    """Hold a schema against the meta-schema of its draft.

    Raises `SchemaError` with the place of the first fault.
    """
    where = f"{document}#" if document else ""
    if not isinstance(schema, dict | bool):
        raise SchemaError(
            f"at {where or 'the root'}: a schema is an object, true or false, "
            f"not {type(schema).__name__}"
        )
    if isinstance(schema, bool):
        return
    try:
        jsonschema_rs.meta.validate({**schema, "$schema": dialect.uri})
    except jsonschema_rs.ValidationError as error:
        place = where + pointer(tuple(error.instance_path))
        raise SchemaError(
            f"at {place or 'the root'}: this is not a JSON Schema: {error.message[:300]}"
        ) from error
