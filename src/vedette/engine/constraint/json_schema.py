"""JSON Schema to an llguidance grammar: compact, bounded, closed.

Four things are narrowed on purpose, so that a small model ends: objects that declare their
properties take no others, strings without a bound get `DEFAULT_MAX_LENGTH`, arrays without one
get `DEFAULT_MAX_ITEMS`, integers without one stay within `MAX_INTEGER`. Whatever comes out is
valid against the schema as it was written. Anything that llguidance cannot enforce is refused,
never skipped.
"""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import orjson
from llguidance import LLMatcher

from vedette.errors import SchemaError

from .compact import COMPACT
from .grounded import ground, has_grounding
from .verbatim import Verbatim, has_verbatim

DEFAULT_MAX_LENGTH = 256
DEFAULT_MAX_ITEMS = 64
MAX_INTEGER = 2**53 - 1  # what every JSON reader can hold exactly (RFC 8259, section 6)

_STRING_BOUNDS = ("maxLength", "pattern", "format", "enum", "const", "x-verbatim")
_INTEGER_BOUNDS = (
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "enum",
    "const",
)
_ARRAY_BOUNDS = ("maxItems", "enum", "const")
# Not below `not`, `if` and `contains`: narrowing these would widen the whole.
_SUBSCHEMA = ("items", "additionalProperties")
_ALTERNATIVES = {"anyOf", "oneOf", "$ref", "if", "then", "else", "dependentSchemas"}
_SUBSCHEMA_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SUBSCHEMA_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")


def parse_schema(source: str | bytes) -> dict[str, Any]:
    """Read a schema and hold it against the meta-schema of its draft.

    Raises `SchemaError` with the place of the first fault.
    """
    try:
        schema = orjson.loads(source)
    except orjson.JSONDecodeError as error:
        raise SchemaError(
            f"the schema is not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        ) from error
    if not isinstance(schema, dict):
        raise SchemaError(f"a schema must be a JSON object, this is {type(schema).__name__}")
    try:
        jsonschema_rs.validator_for(schema)
    except (jsonschema_rs.ValidationError, ValueError) as error:
        place = "/".join(str(step) for step in getattr(error, "instance_path", []))
        reason = getattr(error, "message", None) or str(error)
        raise SchemaError(
            f"this is not a JSON Schema: at {'/' + place if place else 'its root'}: {reason}"
        ) from error
    return schema


def grammar_of_schema(source: str, input_text: str = "") -> str:
    """Grammar text for the matcher. `input_text` is what verbatim and grounded fields refer to."""
    written = parse_schema(source)
    if has_grounding(written):
        written = ground(written, input_text)
    if '"oneOf"' in orjson.dumps(written).decode():
        # Alternatives that overlap as written would look disjoint once they are narrowed.
        _refuse_unless_enforceable(written)
    schema = bounded(written)
    if not has_verbatim(schema):
        return str(LLMatcher.grammar_from_json_schema(schema, overrides=COMPACT))
    if "$ref" in orjson.dumps(schema).decode():
        raise SchemaError("x-verbatim cannot be used in a schema with $ref yet")
    return str(LLMatcher.grammar_from_lark(Verbatim(input_text, COMPACT).lark(schema)))


def _refuse_unless_enforceable(schema: dict[str, Any]) -> None:
    reason = LLMatcher.validate_grammar(str(LLMatcher.grammar_from_json_schema(schema)))
    if reason:
        raise SchemaError(f"this schema cannot be enforced: {' '.join(reason.split())[:300]}")


def bounded(schema: Any, *, close: bool = True) -> Any:
    """The schema with the four narrowings of this module applied throughout.

    An object that is described in several places (`allOf`, or `properties` beside `anyOf` and
    the like) stays open: each place knows only some of its properties.
    """
    if not isinstance(schema, dict):
        return schema
    out = dict(schema)
    scattered = "allOf" in out or bool("properties" in out and _ALTERNATIVES & out.keys())
    close = close and not scattered
    for key in _SUBSCHEMA:
        if key in out:
            out[key] = bounded(out[key])
    for key in _SUBSCHEMA_LISTS:
        if isinstance(out.get(key), list):
            here = key == "prefixItems" or close
            out[key] = [bounded(part, close=here) for part in out[key]]
    for key in _SUBSCHEMA_MAPS:
        if isinstance(out.get(key), dict):
            out[key] = {name: bounded(part) for name, part in out[key].items()}
    kinds = out.get("type")
    kinds = {kinds} if isinstance(kinds, str) else set(kinds or ())
    if "string" in kinds and not any(key in out for key in _STRING_BOUNDS):
        out["maxLength"] = max(DEFAULT_MAX_LENGTH, out.get("minLength", 0))
    if "array" in kinds and not any(key in out for key in _ARRAY_BOUNDS):
        out["maxItems"] = max(DEFAULT_MAX_ITEMS, out.get("minItems", 0))
    if "integer" in kinds and not any(key in out for key in _INTEGER_BOUNDS):
        out |= {"minimum": -MAX_INTEGER, "maximum": MAX_INTEGER}
    open_ends = {"additionalProperties", "patternProperties", "unevaluatedProperties"}
    if close and "properties" in out and not open_ends & out.keys():
        out["additionalProperties"] = False
    return out
