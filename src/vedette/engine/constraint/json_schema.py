"""JSON Schema to a grammar of the engine: what it enforces, and what is checked on the answer.

A schema is looked through once (`schema/`); for each input, fields that the input must bear out
are narrowed, endless things are bounded, and the rest is written as JSON on one line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import jsonschema_rs
import orjson
from llguidance import LLMatcher

from vedette.errors import ConstraintFailed, SchemaError
from vedette.schema_report import SchemaReport
from vedette.types import Json, SchemaOptions

from .bounds import Bounds
from .deep_stack import check_size
from .defects import first_defect
from .grounded import ground, has_grounding
from .least import has_free_names, largest_commitment_bytes
from .optional import with_null_inside
from .rules import Rules
from .schema import Analysis, analyse
from .spelling import SPELLING
from .verbatim import has_verbatim

_ANALYSED = 256
_DEFAULTS = SchemaOptions()


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with an answer, and the place in it: a path, or characters `[start, end)`.

    `is_container`: it is about a whole object or list, of which no single part is to blame.
    """

    message: str
    path: tuple[str | int, ...] = ()
    is_container: bool = False
    span: tuple[int, int] | None = None

    def __str__(self) -> str:
        place = "".join(f"/{step}" for step in self.path)
        return f"{self.message} (at {place})" if place else self.message


@dataclass(frozen=True, slots=True)
class SchemaGrammar:
    """The grammar of a schema (for one input, if it looks at the input) and its last word.

    `commitment_bytes`: see `least`. `is_final`: what the grammar lets through is an answer, so
    that it can be shown while it is written; what is not may still be rewritten.
    """

    text: str
    analysis: Analysis
    report: SchemaReport
    commitment_bytes: int
    is_final: bool

    def fault_of(self, answer: str) -> Fault | None:
        """The first fault of a finished answer under the schema as it was written.

        Raises `ConstraintFailed` for an answer that is not JSON.
        """
        return fault_of_text(self.analysis.validator, answer)


def fault_of_text(validator: jsonschema_rs.Validator, answer: str) -> Fault | None:
    """The first fault of an answer as it was written, that of its value included.

    Raises `ConstraintFailed` for an answer that is not JSON.
    """
    try:
        value: Json = json.loads(answer)
        defect = first_defect(answer)
    except (ValueError, RecursionError) as error:
        raise ConstraintFailed(f"the answer is not JSON: {error}") from error
    if defect is not None:
        return Fault(defect.message, span=(defect.start, defect.end))
    return fault_of(validator, value)


def fault_of(validator: jsonschema_rs.Validator, value: Json) -> Fault | None:
    """The first fault of a value and where it is; None if it is valid."""
    try:
        error = next(validator.iter_errors(value), None)
    except UnicodeEncodeError:
        return Fault("it holds half of a surrogate pair")
    if error is None:
        return None
    path, message = tuple(error.instance_path), error.message[:300]
    failing: Json = value
    for step in path:
        failing = failing[step]  # type: ignore[index]
    if error.schema_path[-1:] == ["uniqueItems"] and isinstance(failing, list):
        return Fault(message, (*path, _first_repeat(failing)))
    return Fault(message, path, isinstance(failing, dict | list))


def _first_repeat(items: list[Json]) -> int:
    """The first item that stands earlier in the list too."""
    seen: set[bytes] = set()
    for index, item in enumerate(items):
        written = orjson.dumps(item, option=orjson.OPT_SORT_KEYS)
        if written in seen:
            return index
        seen.add(written)
    return len(items) - 1


def parse_schema(source: str | bytes, options: SchemaOptions = _DEFAULTS) -> dict[str, Any]:
    """Read a schema and hold it against the meta-schema of its draft.

    Raises `SchemaError` with the place of the first fault.
    """
    schema = _read(source)
    _analysed(_text(schema), options)
    return schema


def _text(schema: Mapping[str, Any]) -> str:
    try:
        return orjson.dumps(schema).decode()
    except orjson.JSONEncodeError as error:
        if "recursion" in str(error).lower():
            raise SchemaError("the schema is nested too deeply") from error
        raise SchemaError(f"the schema cannot be written as JSON: {error}") from error


def schema_report(schema: Mapping[str, Any], options: SchemaOptions = _DEFAULTS) -> SchemaReport:
    """What becomes of each keyword. Raises `SchemaRefused` (a `SchemaError`) with its report."""
    analysis = _analysed(_text(schema), options)
    bounds = Bounds(options)
    bounds.narrowed(analysis.grammar_schema)
    return replace(analysis.report, bounds=bounds.applied)


@dataclass(frozen=True, slots=True)
class NarrowedSchema:
    """A schema in its plain form for one input: lowered, grounded in the input, and bounded.

    `lowered` is the same before endless things were bounded.
    """

    schema: dict[str, Any]
    lowered: dict[str, Any]
    analysis: Analysis
    report: SchemaReport


def narrowed_schema(
    source: str, input_text: str = "", options: SchemaOptions = _DEFAULTS
) -> NarrowedSchema:
    """The plain form. `input_text` is what grounded fields refer to.

    Raises `SchemaError` for a schema that is not one or that cannot be enforced.
    """
    check_size(source)
    try:
        analysis = _analysed(source, options)
        lowered = with_null_inside(analysis.grammar_schema)
        if has_grounding(lowered):
            lowered = ground(lowered, input_text)
        bounds = Bounds(options)
        schema = bounds.narrowed(lowered)
    except RecursionError as error:
        raise SchemaError("the schema is nested too deeply") from error
    report = replace(analysis.report, bounds=bounds.applied)
    return NarrowedSchema(schema, lowered, analysis, report)


def grammar_of_schema(
    source: str, input_text: str = "", options: SchemaOptions = _DEFAULTS
) -> SchemaGrammar:
    """The grammar for the matcher. `input_text` is what verbatim and grounded fields refer to.

    Raises `SchemaError` for a schema that is not one or that cannot be enforced.
    """
    narrowed = narrowed_schema(source, input_text, options)
    schema = narrowed.schema
    any_order = options.order == "any"
    try:
        if has_verbatim(schema) or any_order:
            lark = Rules(input_text, SPELLING, any_order=any_order).lark(schema)
            text = str(LLMatcher.grammar_from_lark(lark))
        else:
            text = str(LLMatcher.grammar_from_json_schema(schema, overrides=SPELLING))
    except RecursionError as error:
        raise SchemaError("the schema is nested too deeply") from error
    is_final = narrowed.report.exact and not has_free_names(schema)
    return SchemaGrammar(
        text, narrowed.analysis, narrowed.report, largest_commitment_bytes(schema), is_final
    )


def _read(source: str | bytes) -> dict[str, Any]:
    try:
        schema = orjson.loads(source)
    except orjson.JSONDecodeError as error:
        raise SchemaError(
            f"the schema is not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        ) from error
    if not isinstance(schema, dict):
        raise SchemaError(f"a schema must be a JSON object, this is {type(schema).__name__}")
    return schema


@lru_cache(maxsize=_ANALYSED)
def _analysed(source: str, options: SchemaOptions) -> Analysis:
    files: dict[str, Json] = {}
    for uri, text in options.files:
        try:
            files[uri] = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise SchemaError(f"the schema file for {uri} is not JSON: {error.msg}") from error
    return analyse(_read(source), files=files, strict=options.strict, formats=options.formats)
