"""How many tokens an answer may come to need, from the bounds of its schema."""

from __future__ import annotations

from typing import Any

from vedette.engine.constraint.verbatim import MAX_VERBATIM_CHARS
from vedette.errors import InputError
from vedette.types import SchemaOptions

from .outline import resolve

_BOUNDS = SchemaOptions()

LEAST_TOKENS = 48
MOST_TOKENS = 1024

# Dense text (digits, identifiers, Chinese) comes close to a token for each character.
_CHARS_PER_TOKEN = 1.25


def check_at_least_1(name: str, count: int | None) -> None:
    """Raise `InputError` for a count that counts nothing; None is no count."""
    if count is not None and count < 1:
        raise InputError(f"{name} is {count}; it must be at least 1")


def answer_tokens(schema: dict[str, Any], input_tokens: int) -> int:
    """An upper bound in practice: what the schema can hold, within `MOST_TOKENS`.

    A verbatim string can be no longer than the input.
    """
    most = _tokens(schema, schema, input_tokens, depth=0)
    return max(LEAST_TOKENS, min(MOST_TOKENS, int(most) + 16))


def _tokens(schema: Any, root: dict[str, Any], input_tokens: int, depth: int) -> float:
    schema = resolve(schema, root)
    if depth > 6:
        return MOST_TOKENS
    if "const" in schema or "enum" in schema:
        values = [schema["const"]] if "const" in schema else schema["enum"]
        return max((len(str(value).encode()) for value in values), default=0) / 2 + 2
    branches = [b for key in ("anyOf", "oneOf", "allOf") for b in schema.get(key, ())]
    if branches:
        return max(_tokens(branch, root, input_tokens, depth + 1) for branch in branches)
    kinds = schema.get("type", "object" if "properties" in schema else "string")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    return max(_of_kind(kind, schema, root, input_tokens, depth) for kind in kinds)


def _of_kind(
    kind: str, schema: dict[str, Any], root: dict[str, Any], input_tokens: int, depth: int
) -> float:
    if kind == "object":
        if _takes_any_property(schema):
            return MOST_TOKENS
        return 4 + sum(
            len(name) / 3 + 4 + _tokens(sub, root, input_tokens, depth + 1)
            for name, sub in schema.get("properties", {}).items()
        )
    if kind == "array":
        n = schema.get("maxItems", _BOUNDS.max_array_items)
        each: float = _tokens(schema.get("items", {}), root, input_tokens, depth + 1)
        return 2 + float(n) * (1 + each)
    if kind == "string":
        default = MAX_VERBATIM_CHARS if schema.get("x-verbatim") else _BOUNDS.max_string_chars
        chars = schema.get("maxLength", default)
        tokens = chars / _CHARS_PER_TOKEN + 3
        return float(min(tokens, input_tokens + 8) if schema.get("x-verbatim") else tokens)
    return 12


def _takes_any_property(schema: dict[str, Any]) -> bool:
    """Whether an object has no bound; one that declares its properties takes no others."""
    others = schema.get("additionalProperties", "properties" not in schema)
    return others is not False or bool(schema.get("patternProperties"))
