"""Fields whose value is copied from the input: `"x-verbatim": true` on a string.

The value is right by construction: it can only be a span of the input, cut between words, or
null where the schema allows null. Objects on the way to such a field are written out as grammar
rules; everything else stays a JSON Schema inside the grammar.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import orjson

from vedette.errors import InputError, NothingQualifies, SchemaError

MAX_VERBATIM_CHARS = 400

# Keywords that the written-out rules do not enforce, so they are refused rather than skipped.
_UNENFORCED = frozenset(
    (
        *("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "enum", "const"),
        *("dependencies", "dependentRequired", "dependentSchemas", "propertyNames"),
        *("minProperties", "maxProperties", "uniqueItems", "contains", "prefixItems"),
    )
)

# Where a span may be cut: between words, numbers, single punctuation marks and JSON escapes.
_CHUNK = re.compile(r"\\u[0-9a-f]{4}|\\.|[^\W_]+|[\W_]", re.DOTALL)
# Scripts without spaces between words are cut between characters.
_UNSPACED = re.compile(r"[぀-ヿ㐀-鿿가-힯]")


def has_verbatim(schema: Any) -> bool:
    """Whether a verbatim field stands anywhere in the schema."""
    if isinstance(schema, list):
        return any(has_verbatim(part) for part in schema)
    if not isinstance(schema, Mapping):
        return False
    mark = schema.get("x-verbatim", False)
    if not isinstance(mark, bool | Mapping):  # a mapping: a property that has this name
        raise SchemaError(f"x-verbatim must be true or false, not {mark!r}")
    return mark is True or any(has_verbatim(v) for v in schema.values())


def chunks(escaped: str) -> list[str]:
    """The pieces of a JSON-escaped text between which a span may be cut."""
    pieces: list[str] = []
    for chunk in _CHUNK.findall(escaped):
        pieces.extend(chunk if _UNSPACED.search(chunk) else [chunk])
    return pieces


class Verbatim:
    """Writes the Lark grammar of one schema over one input."""

    def __init__(self, input_text: str, json_options: Mapping[str, Any]) -> None:
        try:
            escaped = orjson.dumps(input_text).decode()[1:-1]
        except orjson.JSONEncodeError as error:
            raise InputError(f"the input is not valid Unicode: {error}") from error
        self._chunks = chunks(escaped)
        self._shortest = min(map(len, self._chunks), default=0)
        self._options = dict(json_options)
        self._rules: list[str] = []
        self._spans: dict[int, str] = {}
        self._definitions: Mapping[str, Any] = {}
        self._referred: dict[str, str] = {}  # names of $defs -> names of their rules

    def lark(self, schema: Mapping[str, Any]) -> str:
        """The whole grammar. Raises `SchemaError` for a schema it has no sound form for."""
        self._definitions = schema.get("$defs", {})
        start = self._value({key: part for key, part in schema.items() if key != "$defs"})
        return "\n".join([f"start: {start}", *self._rules]) + "\n"

    def _rule(self, body: str) -> str:
        name = f"r{len(self._rules)}"
        self._rules.append(f"{name}: {body}")
        return name

    def _value(self, schema: Any) -> str:
        if "$ref" in schema:
            return self._reference(schema["$ref"])
        if not has_verbatim(schema):
            whole = {**schema, "x-guidance": self._options}
            if '"$ref"' in orjson.dumps(schema).decode():
                if has_verbatim(self._definitions):
                    return self._written_out(schema)
                whole["$defs"] = self._definitions
            return f"%json {orjson.dumps(whole).decode()}"
        return self._written_out(schema)

    def _reference(self, reference: str) -> str:
        """The rule of a definition, written when it is first needed."""
        name = reference.removeprefix("#/$defs/")
        if name not in self._referred:
            self._referred[name] = f"d{len(self._referred)}"
            body = self._value(self._definitions[name])
            self._rules.append(f"{self._referred[name]}: {body}")
        return self._referred[name]

    def _written_out(self, schema: Mapping[str, Any]) -> str:
        if schema.get("x-verbatim") is True:
            return self._span(schema)
        unenforced = sorted(key for key in _UNENFORCED & schema.keys() if schema[key] is not False)
        if unenforced:
            raise SchemaError(
                f"{', '.join(unenforced)} cannot be enforced above an x-verbatim field",
                hint="x-verbatim goes on strings inside plain objects and arrays",
            )
        if schema.get("type") == "object" and "properties" in schema:
            return self._object(schema)
        if schema.get("type") == "array" and isinstance(schema.get("items"), dict):
            return self._array(schema)
        raise SchemaError(
            "x-verbatim is supported on strings inside plain objects and arrays; "
            f"found it below {', '.join(sorted(schema))}"
        )

    def _span(self, schema: Mapping[str, Any]) -> str:
        kinds = schema.get("type", "string")
        kinds = [kinds] if isinstance(kinds, str) else list(kinds)
        if not set(kinds) <= {"string", "null"} or "string" not in kinds:
            raise SchemaError(f"x-verbatim goes with type string or [string, null], not {kinds}")
        unknown = schema.keys() & (_UNENFORCED | {"pattern", "format"})
        if schema.get("minLength", 0) > 1:
            unknown |= {"minLength"}
        if unknown:
            raise SchemaError(f"x-verbatim cannot be combined with {', '.join(sorted(unknown))}")
        alternatives = ['"null"'] if "null" in kinds else []
        limit = int(schema.get("maxLength", MAX_VERBATIM_CHARS))
        if self._chunks and self._shortest <= limit:
            alternatives.insert(0, self._span_terminal(limit))
        if not alternatives:
            reason = f"has no word of at most {limit} characters" if self._chunks else "is empty"
            raise NothingQualifies(
                f"a verbatim string needs a span of the input, which {reason}",
                hint="allow null for the field",
            )
        return self._rule(" | ".join(alternatives))

    def _span_terminal(self, limit_chars: int) -> str:
        if limit_chars not in self._spans:
            n = len(self._spans)
            pieces = orjson.dumps(self._chunks).decode()
            if not self._spans:
                self._rules.append(f'SPAN: %regex {{"substring_chunks": {pieces}}}')
            self._rules.append(f'QUOTED{n}: "\\"" (SPAN & /(?s:.{{1,{limit_chars}}})/) "\\""')
            self._spans[limit_chars] = f"QUOTED{n}"
        return self._spans[limit_chars]

    def _object(self, schema: Mapping[str, Any]) -> str:
        """Properties in declared order; an optional one may be left out."""
        required = set(schema.get("required", ()))
        properties = list(schema["properties"].items())
        unknown = required - schema["properties"].keys()
        if unknown:
            raise SchemaError(f"required property {min(unknown)!r} is not declared")
        after_some = after_none = '""'
        for name, sub in reversed(properties):
            pair = f"{lark_literal(orjson.dumps(name).decode() + ':')} {self._value(sub)}"
            with_some = f'"," {pair} {after_some}'
            with_none = f"{pair} {after_some}"
            if name not in required:
                with_some = f"{with_some} | {after_some}"
                with_none = f"{with_none} | {after_none}"
            after_some, after_none = self._rule(with_some), self._rule(with_none)
        return self._rule(f'"{{" {after_none} "}}"')

    def _array(self, schema: Mapping[str, Any]) -> str:
        low, high = int(schema.get("minItems", 0)), int(schema["maxItems"])
        item = self._rule(self._value(schema["items"]))
        if high == 0:
            return '"[]"'
        if low > high:
            raise SchemaError(f"minItems {low} is more than maxItems {high}")
        more = f'("," {item}){{{max(low - 1, 0)},{high - 1}}}' if high > 1 else '""'
        return self._rule(f'"[" {item} {more} "]"' + (' | "[]"' if low == 0 else ""))


def lark_literal(text: str) -> str:
    """The text as a Lark string; what is not plain ASCII is escaped, as some of it is refused."""
    return json.dumps(text)
