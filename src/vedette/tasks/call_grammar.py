"""Calls of tools as a grammar: names among the tools, arguments under each tool's schema."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jsonschema_rs
import orjson

from vedette.engine.call_form import CallForm
from vedette.engine.constraint.grounded import reads_input
from vedette.engine.constraint.json_schema import fault_of_text, narrowed_schema
from vedette.engine.constraint.least import has_free_names
from vedette.engine.constraint.spelling import SPELLING
from vedette.engine.constraint.verbatim import lark_literal
from vedette.errors import ConstraintFailed, InputError, SchemaError
from vedette.types import Constraint, SchemaOptions

from .tool_defs import Tool

MOST_CALLS = 8
"""Calls of one answer."""

ARGUMENTS = SchemaOptions(max_string_chars=4096)
"""An argument may be a whole file, so that texts without a bound are longer than elsewhere."""


@dataclass(frozen=True, slots=True)
class _Arguments:
    """What a tool's arguments may be: for the grammar, and who has the last word about them."""

    schema: dict[str, Any]
    validator: jsonschema_rs.Validator
    is_final: bool


@dataclass(frozen=True)
class CallGrammar:
    """Answers that call tools, `most` at most, in a model's own form.

    The first call is of the tool `first`, if that is not empty. Raises `InputError` (of it
    `SchemaError`) for tools whose arguments cannot be held to their schema.
    """

    tools: tuple[Tool, ...]
    form: CallForm
    most: int = MOST_CALLS
    first: str = ""

    def __post_init__(self) -> None:
        if self.first and self.first not in self._arguments:
            raise InputError(f"there is no tool {self.first!r}")

    @cached_property
    def _arguments(self) -> dict[str, _Arguments]:
        return {tool.name: _arguments_of(tool) for tool in self.tools}

    @property
    def is_final(self) -> bool:
        """Whether all that the grammar lets through is an answer, without a check."""
        return all(one.is_final for one in self._arguments.values())

    @cached_property
    def constraint(self) -> Constraint:
        """The grammar in Lark."""
        form = self.form
        calls = {
            name: f"{lark_literal(name)} {form.middle} a{i}"
            for i, name in enumerate(self._arguments)
        }
        n_more = self.most - 1 if form.between is not None else 0
        more = f"({form.between} call){{0,{n_more}}}" if n_more else ""
        first = calls[self.first] if self.first else "call"
        rules = [
            f"start: {form.opening} {first} {more} {form.closing}",
            f"call: {' | '.join(calls.values())}",
            *(f"a{i}: {_json(one.schema)}" for i, one in enumerate(self._arguments.values())),
        ]
        return Constraint("lark", "\n".join(rules) + "\n")

    def check(self, name: str, arguments: str) -> None:
        """Raises `ConstraintFailed` for arguments that do not fit their tool's schema."""
        fault = fault_of_text(self._arguments[name].validator, arguments)
        if fault is not None:
            raise ConstraintFailed(f"a call does not fit its tool {name}: {fault}")


def _arguments_of(tool: Tool) -> _Arguments:
    schema = dict(tool.parameters)
    if reads_input(schema):
        raise InputError(
            f"tool {tool.name!r}: its arguments are to be copied from an input; a chat has none",
            hint="leave x-verbatim, x-evidence and x-one-of-input out",
        )
    try:
        narrowed = narrowed_schema(orjson.dumps(schema).decode(), options=ARGUMENTS)
    except SchemaError as error:
        raise SchemaError(f"tool {tool.name!r}: {error.message}", hint=error.hint) from error
    is_final = narrowed.report.exact and not has_free_names(narrowed.schema)
    return _Arguments(narrowed.schema, narrowed.analysis.validator, is_final)


def _json(schema: dict[str, Any]) -> str:
    return f"%json {orjson.dumps({**schema, 'x-guidance': SPELLING}).decode()}"
