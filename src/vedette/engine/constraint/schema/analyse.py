"""A schema looked through before it is used: what the grammar enforces, what is checked after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jsonschema_rs

from vedette.errors import SchemaError
from vedette.schema_report import SchemaReport
from vedette.types import Json

from .dialect import Dialect, dialect_of
from .emit import Emitter
from .facts import node
from .grammar import ByteGrammar
from .lower import Lowering
from .order import Arranger
from .refs import Bundle, bundle
from .report import refused
from .review import ASSERTED_FORMATS, review
from .validator import validator
from .values import spelled
from .visits import check_visits
from .wellformed import check_expressions, check_well_formed

_DRAFTS = {
    "draft 4": jsonschema_rs.Draft4,
    "draft 6": jsonschema_rs.Draft6,
    "draft 7": jsonschema_rs.Draft7,
    "draft 2019-09": jsonschema_rs.Draft201909,
    "draft 2020-12": jsonschema_rs.Draft202012,
}


@dataclass(frozen=True, slots=True)
class Analysis:
    """A schema that can be used.

    `grammar_schema` is what the grammar engine gets: it lets through at least what the report
    calls enforced, and a text of it is an answer only if `validator`, which holds the schema as
    it was written, takes its value too.
    """

    grammar_schema: dict[str, Any]
    validator: jsonschema_rs.Validator
    report: SchemaReport
    grammar: ByteGrammar
    arranger: Arranger

    def is_valid(self, instance: Json) -> bool:
        """Whether the value is valid under the schema as it was written."""
        try:
            return self.validator.is_valid(instance)
        except UnicodeEncodeError:  # half a surrogate pair: nothing that can be sent
            return False

    def accepts(self, instance: Json) -> bool:
        """Whether the value can be written under the grammar and is valid.

        Its members are written in the grammar's order, its numbers without exponent.
        """
        return self.is_valid(instance) and self.grammar.accepts(
            spelled(self.arranger.arranged(instance))
        )


def analyse(
    schema: Json,
    *,
    files: Mapping[str, Json] | None = None,
    strict: bool = False,
    formats: bool = True,
) -> Analysis:
    """Look a schema through and lower it to what the grammar engine enforces.

    `files` are the schemas that remote references may mean, by URI; nothing is fetched. With
    `strict`, a keyword that can only be checked afterwards is refused. `formats` says whether
    `format` asserts anything; in 2020-12 it does not unless asked to.

    Raises `SchemaRefused` (a `SchemaError`) with the place, the reason and the report.
    """
    try:
        dialect = dialect_of(schema)
        check_well_formed(schema, dialect)
        whole = bundle(schema, dict(files or {}), dialect)
        for path in whole.paths():
            check_expressions(whole.at(path), str(whole.origin(path)))
        check_visits(whole)
        return _analysed(schema, whole, strict, formats)
    except RecursionError as error:
        raise refused("the schema is nested too deeply") from error


def _analysed(schema: Json, whole: Bundle, strict: bool, formats: bool) -> Analysis:
    asserted = dict.fromkeys(ASSERTED_FORMATS, formats)
    lowering = Lowering(whole, asserted)
    emitter = Emitter(lowering, node(()))
    report = review(whole, lowering, emitter, asserted)
    if not emitter.possible:
        raise refused("nothing can be valid under this schema", report=report)
    if strict and report.of("checked"):
        first = report.of("checked")[0]
        raise refused(
            f"it cannot be enforced while the answer is written: {first.reason}",
            pointer=first.pointer,
            keyword=first.keyword,
            report=report.strict,
            hint="without strict, the finished answer is checked",
        )
    grammar_schema = emitter.schema()
    try:
        grammar = ByteGrammar(grammar_schema)
    except SchemaError as error:
        raise refused(error.message, report=report) from error
    checker = validator(_dated(schema, whole.dialect), asserted, _registry(whole))
    return Analysis(grammar_schema, checker, report, grammar, Arranger(grammar_schema))


def _dated(schema: Json, dialect: Dialect) -> Any:
    return {"$schema": dialect.uri, **schema} if isinstance(schema, dict) else schema


def _registry(whole: Bundle) -> jsonschema_rs.Registry | None:
    opened: list[tuple[str, Any]] = list(whole.documents.opened.items())
    return jsonschema_rs.Registry(opened, draft=_DRAFTS[whole.dialect.name]) if opened else None
