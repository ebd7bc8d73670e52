"""Texts to JSON, from Python."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, TypeVar, overload

from pydantic import BaseModel, ValidationError

from vedette.errors import ConstraintFailed, InputError
from vedette.tasks.extract import Example
from vedette.tasks.extract import Extract as ExtractTask
from vedette.tasks.extract_thresholds import read_extract_thresholds
from vedette.types import Json

from .engine import Schema, schema_of
from .items import one
from .shared import Answerer

M = TypeVar("M", bound=BaseModel)


def Extract(
    schema: Schema,
    *,
    examples: Iterable[tuple[str, Json]] = (),
    instructions: str = "",
    max_tokens: int | None = None,
    prompt_schema: bool = True,
    thresholds: str | None = None,
) -> ExtractTask:
    """The extract task, for `map`. `schema`: a JSON Schema, a pydantic model, or a field list.

    `thresholds`: a file that `vedette calibrate extract` wrote; each answer's `extra` then has its
    `confidence` and `keep`.
    """
    return ExtractTask(
        schema=schema_of(schema),
        examples=tuple(Example(text, value) for text, value in examples),
        instructions=instructions,
        max_tokens=max_tokens,
        prompt_schema=prompt_schema,
        thresholds=read_extract_thresholds(thresholds) if thresholds is not None else None,
    )


@overload
def extract(
    text: str, schema: type[M], *, model: str | None = None, backend: Answerer | None = None
) -> M: ...
@overload
def extract(
    text: str,
    schema: dict[str, Any] | str,
    *,
    model: str | None = None,
    backend: Answerer | None = None,
) -> Json: ...
def extract(
    text: str, schema: Schema, *, model: str | None = None, backend: Answerer | None = None
) -> Json | BaseModel:
    """One object out of one text.

    `schema` is a JSON Schema, a field list such as `"level:INFO|ERROR, service"`, or a pydantic
    model, of which an instance is returned. `backend` is who answers: an address as `--backend`
    takes it, such as `"openai:https://host/v1#model"`, or a backend. Raises the `VedetteError`
    that says why not.
    """
    return _typed(one(Extract(schema), text, model, backend), schema)


@overload
async def aextract(
    text: str, schema: type[M], *, model: str | None = None, backend: Answerer | None = None
) -> M: ...
@overload
async def aextract(
    text: str,
    schema: dict[str, Any] | str,
    *,
    model: str | None = None,
    backend: Answerer | None = None,
) -> Json: ...
async def aextract(
    text: str, schema: Schema, *, model: str | None = None, backend: Answerer | None = None
) -> Json | BaseModel:
    """`extract` for asyncio."""
    return _typed(await asyncio.to_thread(one, Extract(schema), text, model, backend), schema)


def _typed(value: Json, schema: Schema) -> Json | BaseModel:
    if not isinstance(schema, type):
        return value
    try:
        return schema.model_validate(value)
    except ValidationError as error:
        if value is None:
            raise InputError(
                f"the text is empty, and {schema.__name__} allows no empty answer",
                hint="let its fields be None",
            ) from error
        first = error.errors()[0]
        place = "/".join(str(step) for step in first["loc"]) or "the whole"
        raise ConstraintFailed(
            f"the answer fits the schema, but {schema.__name__} refuses it: {place}: {first['msg']}"
        ) from error
