"""What `import vedette` offers: an engine, the tasks as functions, and a lazy map over items."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast, overload

from pydantic import BaseModel, ValidationError

from vedette.backends.base import Backend
from vedette.backends.none import NoModel
from vedette.batch.answers import answers
from vedette.batch.single import answer_item
from vedette.config import load
from vedette.errors import ConstraintFailed, InputError, VedetteError
from vedette.tasks.base import Task
from vedette.tasks.classify import Classify as ClassifyTask
from vedette.tasks.classify import LabelledText
from vedette.tasks.clean import Clean as CleanTask
from vedette.tasks.clean import Defaults
from vedette.tasks.extract import Example
from vedette.tasks.extract import Extract as ExtractTask
from vedette.tasks.labels import Label, read_labels
from vedette.types import Answer, Item, Json

from .duplicates import Duplicate, dedupe
from .engine import Engine, Schema, schema_of

__all__ = [
    "Classify",
    "Clean",
    "Duplicate",
    "Engine",
    "Extract",
    "aclassify",
    "aextract",
    "amap",
    "classify",
    "clean",
    "dedupe",
    "extract",
    "map",
]

M = TypeVar("M", bound=BaseModel)


def Extract(
    schema: Schema,
    *,
    examples: Iterable[tuple[str, Json]] = (),
    instructions: str = "",
    max_tokens: int | None = None,
    prompt_schema: bool = True,
) -> ExtractTask:
    """The extract task, for `map`. `schema`: a JSON Schema, a pydantic model, or a field list."""
    return ExtractTask(
        schema=schema_of(schema),
        examples=tuple(Example(text, value) for text, value in examples),
        instructions=instructions,
        max_tokens=max_tokens,
        prompt_schema=prompt_schema,
    )


def Classify(
    labels: Sequence[str] | dict[str, str] | str,
    *,
    examples: Iterable[tuple[str, str]] = (),
    multi: bool = False,
    evidence: bool = False,
) -> ClassifyTask:
    """The classify task, for `map`. `labels`: names, or names with descriptions."""
    return ClassifyTask(
        labels=_labels(labels),
        examples=tuple(LabelledText(text, (label,)) for text, label in examples),
        multi=multi,
        evidence=evidence,
    )


def Clean(
    schema: Mapping[str, Any],
    *,
    rules_only: bool = False,
    defaults: Mapping[str, str | int] | None = None,
    instructions: str = "",
) -> CleanTask:
    """The clean task, for `map` over `Item`s with columns. `defaults`: order, decimal, ..."""
    return CleanTask(
        schema=schema,
        rules_only=rules_only,
        defaults=Defaults.of(defaults or {}),
        instructions=instructions,
    )


def clean(
    row: str | Mapping[str, Json],
    schema: Mapping[str, Any],
    *,
    rules_only: bool = False,
    defaults: Mapping[str, str | int] | None = None,
    model: str | None = None,
) -> dict[str, Json]:
    """The values of one row in the form that the schema says: `value`, `changes`, `unsettled`.

    With `rules_only` no model is loaded. `defaults` are those of the command line, such as
    `{"order": "dmy", "country": "DE"}`. Raises `SchemaError` for a schema that does not say what is
    to be done, `InputError` for a row that has none of its fields.
    """
    task = Clean(schema, rules_only=rules_only, defaults=defaults)
    item = Item(id="1", text=row) if isinstance(row, str) else Item(id="1", text="", columns=row)
    backend = NoModel() if rules_only else _shared(model)
    return cast(dict[str, Json], answer_item(task, item, backend).value)


@overload
def extract(text: str, schema: type[M], *, model: str | None = None) -> M: ...
@overload
def extract(text: str, schema: dict[str, Any] | str, *, model: str | None = None) -> Json: ...
def extract(text: str, schema: Schema, *, model: str | None = None) -> Json | BaseModel:
    """One object out of one text.

    `schema` is a JSON Schema, a field list such as `"level:INFO|ERROR, service"`, or a pydantic
    model, of which an instance is returned. Raises the `VedetteError` that says why not.
    """
    return _typed(_one(Extract(schema), text, model), schema)


@overload
async def aextract(text: str, schema: type[M], *, model: str | None = None) -> M: ...
@overload
async def aextract(
    text: str, schema: dict[str, Any] | str, *, model: str | None = None
) -> Json: ...
async def aextract(text: str, schema: Schema, *, model: str | None = None) -> Json | BaseModel:
    """`extract` for asyncio."""
    return _typed(await asyncio.to_thread(_one, Extract(schema), text, model), schema)


def classify(
    text: str, labels: Sequence[str] | dict[str, str] | str, *, model: str | None = None
) -> dict[str, Json]:
    """The label of one text, with the probability of each: keys `label`, `probabilities`, ..."""
    return cast(dict[str, Json], _one(Classify(labels), text, model))


async def aclassify(
    text: str, labels: Sequence[str] | dict[str, str] | str, *, model: str | None = None
) -> dict[str, Json]:
    """`classify` for asyncio."""
    answer = await asyncio.to_thread(_one, Classify(labels), text, model)
    return cast(dict[str, Json], answer)


def map(
    items: Iterable[str | Item],
    task: Task,
    *,
    model: str | None = None,
    backend: Backend | None = None,
    workers: int | None = None,
) -> Iterator[Answer | VedetteError]:
    """Answers of a task over many items, lazily and in order; a failed item yields its error.

    Closing the iterator cancels what is under way.
    """
    found = answers(_items(items), task, backend or _shared(model), workers)
    try:
        for _, outcome in found:
            yield outcome
    finally:
        found.close()


async def amap(
    items: Iterable[str | Item],
    task: Task,
    *,
    model: str | None = None,
    backend: Backend | None = None,
    workers: int | None = None,
) -> AsyncIterator[Answer | VedetteError]:
    """`map` for asyncio."""
    found = map(items, task, model=model, backend=backend, workers=workers)
    end = object()
    step: asyncio.Future[object] | None = None
    try:
        while True:
            step = asyncio.ensure_future(asyncio.to_thread(next, found, end))
            if (outcome := await asyncio.shield(step)) is end:
                return
            yield cast("Answer | VedetteError", outcome)
    finally:
        if step is not None:  # a generator that is at work in its thread cannot be closed
            await asyncio.wait([step])
        await asyncio.to_thread(cast(Any, found).close)


_engines: dict[str, Engine] = {}
_engines_lock = threading.Lock()


def _shared(model: str | None) -> Backend:
    """The backend that the functions of this module use, one for each model, until exit."""
    name = load(model=model).model
    with _engines_lock:
        if name not in _engines:
            _engines[name] = Engine(name)
            if len(_engines) == 1:
                atexit.register(_close_shared)
        return _engines[name].backend


def _close_shared() -> None:
    with _engines_lock:
        while _engines:
            _engines.popitem()[1].close()


def _one(task: Task, text: str, model: str | None) -> Json:
    outcome = next(iter(map([text], task, model=model)))
    if isinstance(outcome, VedetteError):
        raise outcome
    return outcome.value


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


def _items(items: Iterable[str | Item]) -> Iterator[Item]:
    for number, item in enumerate(items, start=1):
        yield item if isinstance(item, Item) else Item(id=str(number), text=item)


def _labels(labels: Sequence[str] | dict[str, str] | str) -> tuple[Label, ...]:
    if isinstance(labels, str):
        return read_labels(labels)
    if isinstance(labels, dict):
        return tuple(Label(name, text) for name, text in labels.items())
    return tuple(Label(name) for name in labels)
