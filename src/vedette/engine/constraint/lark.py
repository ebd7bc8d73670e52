"""Lark as its author wrote it, for the grammar engine."""

from __future__ import annotations

import json
from collections.abc import Iterator

from llguidance import LLMatcher

from vedette.errors import InputError
from vedette.types import Json

LEAST_NUMBER = -(2**63) + 1024
"""Below it (the double after -2^63) llguidance 1.9.1 follows itself without end, and dies."""

_MARK = "%json"


def grammar_of_lark(source: str) -> str:
    """The engine's grammar. Faults of the Lark text come up when it is compiled.

    Raises `InputError` for a schema within it that would end the process.
    """
    for schema in _schemas(source):
        least = min(_numbers(schema), default=0)
        if least < LEAST_NUMBER:
            raise InputError(
                f"the grammar has the number {least} in a schema; the least is {LEAST_NUMBER}",
                hint="write it as text outside of %json",
            )
    return str(LLMatcher.grammar_from_lark(source))


def _schemas(source: str) -> Iterator[Json]:
    """What stands behind each `%json`, where that is JSON."""
    decoder = json.JSONDecoder()
    for rest in source.split(_MARK)[1:]:
        try:
            yield decoder.raw_decode(rest.lstrip())[0]
        except (ValueError, RecursionError):  # the engine says so with its place
            continue


def _numbers(schema: Json) -> Iterator[int | float]:
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, int | float):
            yield value
