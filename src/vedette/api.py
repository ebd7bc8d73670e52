"""What `import vedette` offers: an engine, the tasks as functions, and a lazy map over items."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import Any, TypeVar, cast, overload

import orjson
from pydantic import BaseModel, TypeAdapter

from vedette.backends.base import Backend
from vedette.backends.local import LocalBackend
from vedette.batch.answers import answers
from vedette.config import load
from vedette.engine.options import EngineOptions
from vedette.errors import InputError, SchemaError, VedetteError
from vedette.models.pull import pull
from vedette.tasks.base import Task
from vedette.tasks.classify import Classify as ClassifyTask
from vedette.tasks.classify import LabelledText
from vedette.tasks.extract import Example
from vedette.tasks.extract import Extract as ExtractTask
from vedette.tasks.fields import schema_of_fields
from vedette.tasks.labels import Label, read_labels
from vedette.types import (
    Answer,
    Completion,
    Constraint,
    Item,
    Json,
    Message,
    Prompt,
    Request,
    Sampling,
    ScoreRequest,
    Scores,
)

M = TypeVar("M", bound=BaseModel)
Schema = dict[str, Any] | str | type[BaseModel]
Chat = str | Sequence[dict[str, str]] | Prompt


class Engine:
    """A model loaded in this process.

    `model` is a name, `hf:user/repo:QUANT` or a path (None: the configured default), fetched if
    it is not here yet and `offline` is not set. Use it as a context manager, or call `close`.
    `width` requests are answered at once; `context_tokens` bounds prompt and answer together.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        width: int | None = None,
        threads: int | None = None,
        context_tokens: int | None = None,
        kv_type: str | None = None,
        offline: bool | None = None,
    ) -> None:
        settings = load(
            model=model,
            width=width,
            threads=threads,
            context_tokens=context_tokens,
            kv_type=kv_type,
            offline=offline,
        )
        if not settings.offline:
            pull(settings.model)
        self.backend = LocalBackend(
            settings.model,
            EngineOptions(
                width=settings.width,
                threads=settings.thread_count,
                max_context_tokens=settings.context_tokens,
                batch_tokens=settings.batch_tokens,
                kv_type=settings.kv_type,
            ),
        )

    def complete(
        self,
        prompt: Chat,
        *,
        schema: Schema | None = None,
        choices: Sequence[str] | None = None,
        regex: str | None = None,
        max_tokens: int = 256,
        temperature: float = 0.0,
        seed: int = 0,
        stop: Sequence[str] = (),
        logprobs: bool = False,
        deadline_s: float | None = None,
    ) -> Completion:
        """Generate one text. At most one of `schema`, `choices` and `regex` constrains it.

        Raises the `VedetteError` that says why there is no answer.
        """
        request = _request(
            prompt,
            schema=schema,
            choices=choices,
            regex=regex,
            max_tokens=max_tokens,
            sampling=Sampling(temperature=temperature, seed=seed),
            stop=tuple(stop),
            logprobs=logprobs,
            deadline_s=deadline_s,
        )
        return self.backend.submit(request).result()

    async def acomplete(
        self, prompt: Chat, *, schema: Schema | None = None, max_tokens: int = 256
    ) -> Completion:
        """`complete` for asyncio; cancelling the task cancels the request."""
        return await self.backend.submit(_request(prompt, schema=schema, max_tokens=max_tokens))

    def stream(
        self, prompt: Chat, *, schema: Schema | None = None, max_tokens: int = 256
    ) -> Iterator[str]:
        """Generate one text and yield its pieces as they are decided.

        Closing the iterator cancels the request.
        """
        handle = self.backend.submit(_request(prompt, schema=schema, max_tokens=max_tokens))
        try:
            yield from handle
        finally:
            handle.cancel()

    def score(self, prompt: Chat, choices: Sequence[str]) -> Scores:
        """Log-probability of each choice as the beginning of the answer. Nothing is generated."""
        request = ScoreRequest(prompt=_prompt(prompt), choices=tuple(choices))
        return self.backend.submit(request).result()

    def close(self) -> None:
        """Free the model; requests under way fail with `Cancelled`."""
        self.backend.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def Extract(
    schema: Schema,
    *,
    examples: Iterable[tuple[str, Json]] = (),
    instructions: str = "",
    max_tokens: int | None = None,
) -> ExtractTask:
    """The extract task, for `map`. `schema`: a JSON Schema, a pydantic model, or a field list."""
    return ExtractTask(
        schema=_schema(schema),
        examples=tuple(Example(text, value) for text, value in examples),
        instructions=instructions,
        max_tokens=max_tokens,
    )


def Classify(
    labels: Sequence[str] | dict[str, str] | str,
    *,
    examples: Iterable[tuple[str, str]] = (),
    multi: bool = False,
) -> ClassifyTask:
    """The classify task, for `map`. `labels`: names, or names with descriptions."""
    return ClassifyTask(
        labels=_labels(labels),
        examples=tuple(LabelledText(text, (label,)) for text, label in examples),
        multi=multi,
    )


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
    try:
        while (outcome := await asyncio.to_thread(next, found, end)) is not end:
            yield cast("Answer | VedetteError", outcome)
    finally:
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
    return schema.model_validate(value) if isinstance(schema, type) else value


def _items(items: Iterable[str | Item]) -> Iterator[Item]:
    for number, item in enumerate(items, start=1):
        yield item if isinstance(item, Item) else Item(id=str(number), text=item)


def _schema(schema: Schema) -> dict[str, Any]:
    if isinstance(schema, dict):
        return schema
    if isinstance(schema, str):
        return schema_of_fields(schema)
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return TypeAdapter(schema).json_schema()
    raise SchemaError(f"a schema is a dict, a field list or a pydantic model, not {schema!r}")


def _labels(labels: Sequence[str] | dict[str, str] | str) -> tuple[Label, ...]:
    if isinstance(labels, str):
        return read_labels(labels)
    if isinstance(labels, dict):
        return tuple(Label(name, text) for name, text in labels.items())
    return tuple(Label(name) for name in labels)


def _prompt(prompt: Chat) -> Prompt:
    if isinstance(prompt, Prompt):
        return prompt
    if isinstance(prompt, str):
        return Prompt(messages=(Message("user", prompt),))
    for message in prompt:
        if message.get("role") not in ("system", "user", "assistant"):
            raise InputError(f"a message needs a role: system, user or assistant; got {message}")
    return Prompt(
        messages=tuple(Message(cast(Any, m["role"]), str(m.get("content", ""))) for m in prompt)
    )


def _request(
    prompt: Chat,
    *,
    max_tokens: int,
    schema: Schema | None = None,
    choices: Sequence[str] | None = None,
    regex: str | None = None,
    sampling: Sampling | None = None,
    stop: tuple[str, ...] = (),
    logprobs: bool = False,
    deadline_s: float | None = None,
) -> Request:
    constraints = [
        Constraint("json_schema", orjson.dumps(_schema(schema)).decode()) if schema else None,
        Constraint("choice", orjson.dumps(list(choices)).decode()) if choices else None,
        Constraint("regex", regex) if regex else None,
    ]
    given = [constraint for constraint in constraints if constraint is not None]
    if len(given) > 1:
        raise InputError("give only one of schema, choices and regex")
    return Request(
        prompt=_prompt(prompt),
        constraint=given[0] if given else None,
        max_tokens=max_tokens,
        sampling=sampling or Sampling(),
        stop=stop,
        logprobs=logprobs,
        deadline_s=deadline_s,
    )
