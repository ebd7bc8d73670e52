"""Bounds for whatever a schema leaves endless, so that a small model comes to an end.

They narrow: whatever comes out is valid under the schema as it was written.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

from vedette.types import SchemaOptions

with warnings.catch_warnings():  # deprecated as a public name; there is no other one
    warnings.simplefilter("ignore", DeprecationWarning)
    import sre_parse

MAX_INTEGER = 2**53 - 1
"""What every JSON reader can hold exactly (RFC 8259, section 6)."""

_MAPS = ("properties", "patternProperties", "$defs")
_FIXED = ("enum", "const", "x-verbatim")


class Bounds:
    """Narrows a lowered schema: one without `allOf`, `oneOf`, `not` and the like.

    `applied` are the sentences for the report, once each.
    """

    def __init__(self, options: SchemaOptions) -> None:
        self._options = options
        self._applied: dict[str, None] = {}

    @property
    def applied(self) -> tuple[str, ...]:
        """What was narrowed so far."""
        return tuple(self._applied)

    def narrowed(self, schema: Any) -> Any:
        """The schema with bounds throughout."""
        if not isinstance(schema, dict):
            return schema
        out = dict(schema)
        for key in ("items", "additionalProperties"):
            if key in out:
                out[key] = self.narrowed(out[key])
        for key in ("anyOf", "prefixItems"):
            if key in out:
                out[key] = [self.narrowed(part) for part in out[key]]
        for key in _MAPS:
            if key in out:
                out[key] = {name: self.narrowed(part) for name, part in out[key].items()}
        if not any(key in out for key in _FIXED):
            kinds = out.get("type", ())
            self._bound(out, {kinds} if isinstance(kinds, str) else set(kinds))
        return out

    def _bound(self, schema: dict[str, Any], kinds: set[str]) -> None:
        if "string" in kinds:
            self._string(schema)
        if "array" in kinds and "maxItems" not in schema and schema.get("items") is not False:
            most = max(self._options.max_array_items, schema.get("minItems", 0))
            schema["maxItems"] = most
            self._say(f"arrays without maxItems end after {self._options.max_array_items} items")
        if "integer" in kinds and "number" not in kinds:
            self._integer(schema)
        if "object" in kinds and self._options.closed and _may_be_closed(schema):
            schema["additionalProperties"] = False
            self._say("objects take only the properties that they declare")

    def _string(self, schema: dict[str, Any]) -> None:
        if "maxLength" in schema or "format" in schema:
            return
        most = max(self._options.max_string_chars, schema.get("minLength", 0))
        if "pattern" in schema:
            least = _least_length(schema["pattern"])
            if least is None or least > most:
                return
        schema["maxLength"] = most
        limit = self._options.max_string_chars
        self._say(f"strings without maxLength end after {limit} characters")

    def _integer(self, schema: dict[str, Any]) -> None:
        if "multipleOf" in schema:
            return
        lowest = schema.get("minimum", schema.get("exclusiveMinimum"))
        highest = schema.get("maximum", schema.get("exclusiveMaximum"))
        if lowest is None and (highest is None or highest >= -MAX_INTEGER):
            schema["minimum"] = -MAX_INTEGER
        if highest is None and (lowest is None or lowest <= MAX_INTEGER):
            schema["maximum"] = MAX_INTEGER
        if lowest is None or highest is None:
            self._say("integers without a bound stay within 2^53 - 1")

    def _say(self, sentence: str) -> None:
        self._applied[sentence] = None


def _may_be_closed(schema: dict[str, Any]) -> bool:
    """Whether the object says by its properties what it holds, and these are enough for it."""
    if {"additionalProperties", "patternProperties"} & schema.keys():
        return False
    possible = [part for part in schema.get("properties", {}).values() if part is not False]
    return bool(possible) and schema.get("minProperties", 0) <= len(possible)


def _least_length(pattern: str) -> int | None:
    """Characters of the shortest match; None where Python cannot read the expression."""
    try:
        return int(sre_parse.parse(pattern).getwidth()[0])
    except (re.error, OverflowError, RecursionError):
        return None
