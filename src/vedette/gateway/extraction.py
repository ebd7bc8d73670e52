"""Objects that the local model takes out of a text by itself, where a calibration keeps them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from vedette.backends.base import Backend
from vedette.batch.single import answer_item
from vedette.engine.constraint.json_schema import parse_schema
from vedette.errors import CapabilityMissing, InputError, SchemaError
from vedette.json_text import json_text
from vedette.tasks.examples import extract_examples
from vedette.tasks.extract import NO_OBJECT, Extract
from vedette.tasks.extract_thresholds import read_extract_thresholds
from vedette.types import Item, Json

from .asked import asked_item
from .choice import NOT_ASKED, Choice, kept, unsure
from .messages import most_tokens
from .paths import beside, text_beside
from .tables import UP, TaskTable


@dataclass(frozen=True)
class Extraction:
    """A schema that requests ask for. Only what its calibration keeps is to be believed."""

    task: Extract
    when: re.Pattern[str]
    item: re.Pattern[str] | None
    backend: Backend

    @property
    def identity(self) -> Json:
        """What its answers depend on."""
        return self.task.identity

    def item_of(self, body: Mapping[str, Any]) -> str | None:
        """What the object is to be taken out of; None for a request that asks for no such."""
        if _schema_of(body.get("response_format")) != self.task.schema:
            return None
        return asked_item(body, self.when, self.item)

    def answered(self, item: str, body: Mapping[str, Any]) -> Choice:
        """The object, or that the request goes up. Raises what the local model raises."""
        try:
            answer = answer_item(self.task, Item(id="1", text=item), self.backend)
        except NO_OBJECT as error:
            return Choice(UP, f"no-answer:{error.code}")
        if "confidence" not in answer.extra:
            return Choice(UP, NOT_ASKED)
        confidence = cast(float, answer.extra["confidence"])
        if not answer.extra["keep"]:
            return Choice(UP, unsure(confidence), usage=answer.usage)
        text = json_text(answer.value)
        most = most_tokens(body)
        if most is not None and self.backend.count_tokens(text) > most:
            return Choice(UP, "form", usage=answer.usage)
        return kept(text, confidence, answer.usage)


def open_extraction(
    table: TaskTable,
    when: re.Pattern[str],
    item: re.Pattern[str] | None,
    backend: Backend,
    base: Path,
    where: str,
) -> Extraction:
    """The extraction of a table; `where` is its key.

    Raises `InputError` for a schema or example rows that cannot be used, `CalibrationMismatch` for
    thresholds that were made for another model, schema or prompt, `CapabilityMissing` for a model
    that cannot be held to a schema.
    """
    if "reply" in table.model_fields_set:
        raise InputError(f"{where}.reply goes with labels and ask: here the answer is the object")
    if not backend.capabilities.can_constrain:
        raise CapabilityMissing(
            f"{where} needs a local model that can be held to a schema",
            hint="serve with --backend local",
        )
    try:
        schema = parse_schema(text_beside(str(table.extract), base, "schema"))
    except SchemaError as error:
        raise SchemaError(f"{where}.extract: {error.message}", hint=error.hint) from error
    rows = text_beside(table.examples, base, "examples") if table.examples else ""
    task = Extract(
        schema=schema,
        examples=extract_examples(rows, str(table.examples)) if rows else (),
        instructions=table.instructions,
        thresholds=read_extract_thresholds(beside(table.thresholds, base)),
    )
    if task.thresholds is not None:
        task.thresholds.check(task.key, backend)
    return Extraction(task, when, item, backend)


def _schema_of(form: object) -> object:
    """The schema that `response_format` asks for, if it does."""
    if not isinstance(form, Mapping) or form.get("type") != "json_schema":
        return None
    wanted = form.get("json_schema")
    return wanted.get("schema") if isinstance(wanted, Mapping) else None
