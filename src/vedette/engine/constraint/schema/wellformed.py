"""Whether something is a JSON Schema at all."""

from __future__ import annotations

from typing import Any

import jsonschema_rs

from .dialect import Dialect, pointer
from .report import refused


def check_well_formed(schema: Any, dialect: Dialect, document: str = "") -> None:
    """Hold a schema against the meta-schema of its draft.

    Raises `SchemaRefused` with the place of the first fault.
    """
    where = f"{document}#" if document else ""
    if not isinstance(schema, dict | bool):
        raise refused(
            f"a schema is an object, true or false, not {type(schema).__name__}", pointer=where
        )
    if isinstance(schema, bool):
        return
    try:
        jsonschema_rs.meta.validate({**schema, "$schema": dialect.uri})
    except jsonschema_rs.ValidationError as error:
        path = tuple(error.instance_path)
        keywords = [n for n, step in enumerate(path) if step in dialect.keywords]
        holder = keywords[-1] if keywords else len(path)
        raise refused(
            f"this is not a JSON Schema: {error.message[:300]}",
            pointer=where + pointer(path[:holder]),
            keyword=pointer(path[holder:])[1:],
        ) from error


def check_expressions(schema: Any, place: str) -> None:
    """Read the regular expressions of one schema (not of those below it).

    Raises `SchemaRefused` for one that is none.
    """
    if not isinstance(schema, dict):
        return
    found = [("pattern", schema["pattern"])] if "pattern" in schema else []
    found += [("patternProperties", pattern) for pattern in schema.get("patternProperties", {})]
    for keyword, pattern in found:
        try:
            jsonschema_rs.validator_for({"pattern": pattern})
        except jsonschema_rs.ValidationError as error:
            raise refused(
                f"{pattern!r} is not a regular expression (ECMA-262)",
                pointer=place,
                keyword=keyword,
            ) from error
