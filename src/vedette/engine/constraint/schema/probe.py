"""What the grammar engine can express, asked of the engine itself; answers are kept."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jsonschema_rs
import orjson
from llguidance import LLMatcher

from .grammar import ByteGrammar
from .patterns import CONTROL_LEFT_OUT, Untranslatable, to_grammar

# Bounds up to here are exact both as 64-bit integers and as doubles.
_LARGEST_EXACT = 2**53
_UNIVERSAL = frozenset({"", "^", "$", ".*", "^.*", ".*$", r"^[\s\S]*$"})


@lru_cache(maxsize=4096)
def _refusal(source: bytes) -> str:
    grammar = str(LLMatcher.grammar_from_json_schema(source.decode()))
    return " ".join(LLMatcher.validate_grammar(grammar).split())


def refusal(schema: dict[str, Any]) -> str:
    """Why the engine cannot compile this schema; empty if it can."""
    return _refusal(orjson.dumps(schema))


@lru_cache(maxsize=4096)
def takes_any(source: bytes, texts: tuple[str, ...]) -> bool:
    """Whether the engine can write one of these texts under a grammar schema (as JSON)."""
    grammar = ByteGrammar(orjson.loads(source))
    return any(map(grammar.accepts, texts))


@lru_cache(maxsize=4096)
def grammar_pattern(pattern: str) -> tuple[str | None, str]:
    """The pattern for the grammar, or None; and why there is none, or why it is narrower."""
    try:
        translated, narrowed = to_grammar(pattern)
    except Untranslatable as error:
        return None, f"the grammar has no form for {error}"
    why = refusal({"type": "string", "pattern": translated})
    if why and "nsatisfiable" not in why:
        return None, f"the grammar does not take it: {why[:120]}"
    return translated, CONTROL_LEFT_OUT if narrowed else ""


@lru_cache(maxsize=1024)
def knows_format(name: str) -> bool:
    """Whether the engine enforces this format."""
    return name != "unknown" and not refusal({"type": "string", "format": name})


@lru_cache(maxsize=4096)
def disjoint(one: str, other: str) -> bool:
    """Whether no text matches both of these grammar patterns."""
    why = refusal({"type": "object", "patternProperties": {one: {}, other: {}}})
    return not why


@lru_cache(maxsize=16384)
def matches(pattern: str, text: str) -> bool:
    """Whether the schema's own (ECMA-262) pattern is found in the text."""
    return _finder(pattern).is_valid(text)


@lru_cache(maxsize=1024)
def _finder(pattern: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for({"pattern": pattern})


def is_universal(pattern: str) -> bool:
    """Whether the pattern is one of the plain ways to write 'any text'."""
    return pattern in _UNIVERSAL


def exact_bound(value: float) -> bool:
    """Whether the engine keeps this bound of a number exactly."""
    return abs(value) <= _LARGEST_EXACT
