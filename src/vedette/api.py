"""What `import vedette` offers: an engine, the tasks as functions, and a lazy map over items."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import Any, TypedDict, TypeVar, Unpack, cast, overload

import orjson
from pydantic import BaseModel, TypeAdapter, ValidationError

from vedette.backends.base import Backend
from vedette.backends.local import LocalBackend, fetch, options_of
from vedette.batch.answers import answers
from vedette.config import load
from vedette.errors import ConstraintFailed, InputError, SchemaError, VedetteError
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


class CompleteOptions(TypedDict, total=False):
    """What may be asked of `complete`, `acomplete` and `stream`.

    At most one of `schema`, `choices` and `regex` constrains the answer. Temperature 0 is greedy;
    `deadline_s` counts from the call.
    """

    schema: Schema
    choices: Sequence[str]
    regex: str
    max_tokens: int
    temperature: float
    seed: int
    stop: Sequence[str]
    logprobs: bool
    deadline_s: float


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
        fetch(settings)
        self.backend = LocalBackend(settings.model, options_of(settings))

    def complete(self, prompt: Chat, **options: Unpack[CompleteOptions]) -> Completion:
        """Generate one text. At most one of `schema`, `choices` and `regex` constrains it.

        Raises the `VedetteError` that says why there is no answer.
        """
        return self.backend.submit(_request(prompt, options)).result()

    async def acomplete(self, prompt: Chat, **options: Unpack[CompleteOptions]) -> Completion:
        """`complete` for asyncio; cancelling the task cancels the request."""
        return await self.backend.submit(_request(prompt, options))

    def stream(self, prompt: Chat, **options: Unpack[CompleteOptions]) -> Iterator[str]:
        """Generate one text and yield its pieces as they are decided.

        Closing the iterator cancels the request.
        """
        handle = self.backend.submit(_request(prompt, options))
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


def _as_text(value: Json) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError as error:
        raise SchemaError(f"this cannot be written as JSON: {error}") from error


def _request(prompt: Chat, options: CompleteOptions) -> Request:
    unknown = sorted(options.keys() - CompleteOptions.__annotations__.keys())
    if unknown:
        raise InputError(
            f"there is no option {unknown[0]!r}",
            hint=f"options are {', '.join(CompleteOptions.__annotations__)}",
        )
    constraints = [
        Constraint("json_schema", _as_text(_schema(options["schema"])))
        if options.get("schema") is not None
        else None,
        Constraint("choice", _as_text(list(options["choices"])))
        if options.get("choices") is not None
        else None,
        Constraint("regex", options["regex"]) if options.get("regex") is not None else None,
    ]
    given = [constraint for constraint in constraints if constraint is not None]
    if len(given) > 1:
        raise InputError("give only one of schema, choices and regex")
    return Request(
        prompt=_prompt(prompt),
        constraint=given[0] if given else None,
        max_tokens=options.get("max_tokens", 256),
        sampling=Sampling(temperature=options.get("temperature", 0.0), seed=options.get("seed", 0)),
        stop=tuple(options.get("stop", ())),
        logprobs=options.get("logprobs", False),
        deadline_s=options.get("deadline_s"),
    )
