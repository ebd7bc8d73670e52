"""Fields whose value is copied from the input: `"x-verbatim": true` on a string.

The value is right by construction: it can only be a span of the input, cut between words, or
null where the schema allows null.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import orjson

from vedette.errors import InputError, NothingQualifies, SchemaError

MAX_VERBATIM_CHARS = 400

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


class Spans:
    """The spans of one input, as terminals and rules of a Lark grammar."""

    def __init__(self, input_text: str) -> None:
        try:
            escaped = orjson.dumps(input_text).decode()[1:-1]
        except orjson.JSONEncodeError as error:
            raise InputError(f"the input is not valid Unicode: {error}") from error
        self._chunks = chunks(escaped)
        self._shortest = min(map(len, self._chunks), default=0)
        self._terminals: dict[int, str] = {}

    def rule(self, schema: Mapping[str, Any], rules: list[str]) -> str:
        """The alternatives of one field; what they need is added to `rules`.

        Raises `SchemaError` for keywords that cannot go with it, `NothingQualifies` if no span
        of the input can be the value.
        """
        kinds = schema.get("type", "string")
        kinds = [kinds] if isinstance(kinds, str) else list(kinds)
        if not set(kinds) <= {"string", "null"} or "string" not in kinds:
            raise SchemaError(f"x-verbatim goes with type string or [string, null], not {kinds}")
        unknown = schema.keys() & {"enum", "const", "pattern", "format"}
        if schema.get("minLength", 0) > 1:
            unknown |= {"minLength"}
        if unknown:
            raise SchemaError(f"x-verbatim cannot be combined with {', '.join(sorted(unknown))}")
        alternatives = ['"null"'] if "null" in kinds else []
        limit = int(schema.get("maxLength", MAX_VERBATIM_CHARS))
        if self._chunks and self._shortest <= limit:
            alternatives.insert(0, self._terminal(limit, rules))
        if not alternatives:
            reason = f"has no word of at most {limit} characters" if self._chunks else "is empty"
            raise NothingQualifies(
                f"a verbatim string needs a span of the input, which {reason}",
                hint="allow null for the field",
            )
        return " | ".join(alternatives)

    def _terminal(self, limit_chars: int, rules: list[str]) -> str:
        if limit_chars not in self._terminals:
            n = len(self._terminals)
            pieces = orjson.dumps(self._chunks).decode()
            if not self._terminals:
                rules.append(f'SPAN: %regex {{"substring_chunks": {pieces}}}')
            rules.append(f'QUOTED{n}: "\\"" (SPAN & /(?s:.{{1,{limit_chars}}})/) "\\""')
            self._terminals[limit_chars] = f"QUOTED{n}"
        return self._terminals[limit_chars]


def lark_literal(text: str) -> str:
    """The text as a Lark string; what is not plain ASCII is escaped, as some of it is refused."""
    return json.dumps(text)
