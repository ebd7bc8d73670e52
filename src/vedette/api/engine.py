"""An engine for programs: load a model, complete, stream, score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, cast

import orjson
from pydantic import BaseModel, TypeAdapter

from vedette.backends.adapted import Adapted
from vedette.backends.local import LocalBackend, fetch, options_for
from vedette.backends.personas import parse_personas
from vedette.config import load
from vedette.errors import InputError, SchemaError
from vedette.pictures.content import joined
from vedette.pictures.loading import load as load_picture
from vedette.tasks.fields import schema_of_fields
from vedette.types import (
    AdapterScales,
    Completion,
    Constraint,
    Embedding,
    EmbedRequest,
    Json,
    Message,
    Picture,
    Prompt,
    Request,
    Sampling,
    SchemaOptions,
    ScoreRequest,
    Scores,
)

Schema = dict[str, Any] | str | type[BaseModel]
Chat = str | Sequence[Mapping[str, Any]] | Prompt
"""A user's text, or messages: `role` and `content`, a text or a list of texts and pictures."""
Scales = Mapping[str, float]
"""Loaded adapters by name, each with the scale at which it is applied."""


class CompleteOptions(TypedDict, total=False):
    """What may be asked of `complete`, `acomplete` and `stream`.

    At most one of `schema`, `choices`, `regex`, `grammar` (GBNF) and `lark` constrains the
    answer; `schema_options` says how a schema is taken. `think`: `off`, `free` or a number of
    tokens, for models that think first. Temperature 0 is greedy; `deadline_s` counts from the
    call. `speculate` is `auto`, `off`, `ngram:N`, `draft:N` or `drawn:N`. `adapters` are
    loaded ones by name with their scales.
    """

    schema: Schema
    schema_options: SchemaOptions
    choices: Sequence[str]
    regex: str
    grammar: str
    lark: str
    think: Literal["off", "free"] | int
    max_tokens: int
    temperature: float
    seed: int
    stop: Sequence[str]
    logprobs: bool
    deadline_s: float
    speculate: str
    adapters: Scales


class Engine:
    """A model loaded in this process.

    `model` is a name, `hf:user/repo:QUANT` or a path (None: the configured default), fetched if
    it is not here yet and `offline` is not set. Use it as a context manager, or call `close`.
    `width` requests are answered at once; `context_tokens` bounds prompt and answer together.
    `draft` is a smaller model that may guess tokens, `speculate` says who does. `mmproj` is the
    model's vision projector (None: one that lies beside the model, `none`: without one); then
    messages may hold pictures.
    `tuned` says whether a copy that `vedette tune` made of the model is used. `adapters` are LoRA
    adapters to load, their files by name; a request is answered under those that it names.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        width: int | None = None,
        threads: int | None = None,
        context_tokens: int | None = None,
        kv_type: str | None = None,
        draft: str | None = None,
        mmproj: str | Path | None = None,
        speculate: str | None = None,
        offline: bool | None = None,
        tuned: bool | None = None,
        adapters: Mapping[str, str | Path] | None = None,
    ) -> None:
        settings = load(
            model=model,
            width=width,
            threads=threads,
            context_tokens=context_tokens,
            kv_type=kv_type,
            draft=draft,
            mmproj=None if mmproj is None else str(mmproj),
            speculate=speculate,
            offline=offline,
            tuned=tuned,
        )
        fetch(settings)
        self.backend = LocalBackend(settings.model, options_for(settings), use_tuned=settings.tuned)
        try:
            self.backend.add_personas(parse_personas(settings.lora))
            for name, path in (adapters or {}).items():
                self.add_adapter(name, path)
        except BaseException:
            self.backend.close()
            raise

    def add_adapter(self, name: str, path: str | Path) -> None:
        """Load a LoRA adapter, which requests may name from then on.

        Raises `InputError` for a name that is taken or not one, `AdapterRefused` for an adapter
        that does not go with the model, `ModelError` and `FileError` for a file that is no GGUF.
        """
        self.backend.add_adapter(name, Path(path).expanduser())

    def remove_adapter(self, name: str) -> None:
        """Take an adapter away; requests under way have it to their end.

        Raises `InputError` for one that is not there.
        """
        self.backend.remove_adapter(name)

    @property
    def adapters(self) -> tuple[str, ...]:
        """The names of the loaded adapters."""
        return tuple(self.backend.adapters)

    def persona(self, adapters: Scales) -> Adapted:
        """The engine under adapters, as the `backend` of a task. The engine stays its owner.

        Raises `InputError` for one that is not loaded.
        """
        return Adapted(self.backend, _scales(adapters))

    def complete(self, prompt: Chat, **options: Unpack[CompleteOptions]) -> Completion:
        """Generate one text. At most one constraint holds it.

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

    def score(
        self, prompt: Chat, choices: Sequence[str], *, adapters: Scales | None = None
    ) -> Scores:
        """Log-probability of each choice as the beginning of the answer. Nothing is generated."""
        request = ScoreRequest(
            prompt=_prompt(prompt), choices=tuple(choices), adapters=_scales(adapters)
        )
        return self.backend.submit(request).result()

    def embed(self, prompt: Chat, *, adapters: Scales | None = None) -> Embedding:
        """Where the model places a prompt: logits of what may follow. Nothing is generated."""
        request = EmbedRequest(prompt=_prompt(prompt), adapters=_scales(adapters))
        return self.backend.submit(request).result()

    def close(self) -> None:
        """Free the model; requests under way fail with `Cancelled`."""
        self.backend.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def schema_of(schema: Schema) -> dict[str, Any]:
    """The JSON Schema of a dict, a field list or a pydantic model. Raises `SchemaError`."""
    if isinstance(schema, dict):
        return schema
    if isinstance(schema, str):
        return schema_of_fields(schema)
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return TypeAdapter(schema).json_schema()
    raise SchemaError(f"a schema is a dict, a field list or a pydantic model, not {schema!r}")


def _scales(adapters: Scales | None) -> AdapterScales:
    return tuple((adapters or {}).items())


def _prompt(prompt: Chat) -> Prompt:
    if isinstance(prompt, Prompt):
        return prompt
    if isinstance(prompt, str):
        return Prompt(messages=(Message("user", prompt),))
    for message in prompt:
        if message.get("role") not in ("system", "user", "assistant"):
            raise InputError(f"a message needs a role: system, user or assistant; got {message}")
    return Prompt(messages=tuple(map(_message, prompt)))


def _message(given: Mapping[str, Any]) -> Message:
    content = given.get("content", "")
    parts = content if isinstance(content, list | tuple) else [str(content)]
    text, placed = joined([_part(part) for part in parts])
    return Message(cast(Any, given["role"]), text, pictures=placed)


def _part(part: object) -> str | Picture:
    """A text or a picture, as such or as OpenAI's clients send it. Raises `InputError`."""
    match part:
        case str() | Picture():
            return part
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            return load_picture(url)
    raise InputError(f"a part of a message is a text or a picture, not {part!r}")


def _as_text(value: Json) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError as error:
        raise SchemaError(f"this cannot be written as JSON: {error}") from error


def _constraint(options: CompleteOptions) -> Constraint | None:
    """The one constraint among the options. Raises `InputError` for several."""
    given: list[Constraint] = []
    how = options.get("schema_options")
    if (schema := options.get("schema")) is not None:
        source = _as_text(schema_of(schema))
        given.append(Constraint("json_schema", source, options=how or SchemaOptions()))
    elif how is not None:
        raise InputError("schema_options goes with schema")
    if (choices := options.get("choices")) is not None:
        given.append(Constraint("choice", _as_text(list(choices))))
    if (regex := options.get("regex")) is not None:
        given.append(Constraint("regex", regex))
    if (grammar := options.get("grammar")) is not None:
        given.append(Constraint("gbnf", grammar))
    if (lark := options.get("lark")) is not None:
        given.append(Constraint("lark", lark))
    if len(given) > 1:
        raise InputError("give only one of schema, choices, regex, grammar and lark")
    return given[0] if given else None


def _request(prompt: Chat, options: CompleteOptions) -> Request:
    unknown = sorted(options.keys() - CompleteOptions.__annotations__.keys())
    if unknown:
        raise InputError(
            f"there is no option {unknown[0]!r}",
            hint=f"options are {', '.join(CompleteOptions.__annotations__)}",
        )
    return Request(
        prompt=_prompt(prompt),
        constraint=_constraint(options),
        max_tokens=options.get("max_tokens", 256),
        think=options.get("think", "off"),
        sampling=Sampling(temperature=options.get("temperature", 0.0), seed=options.get("seed", 0)),
        stop=tuple(options.get("stop", ())),
        logprobs=options.get("logprobs", False),
        deadline_s=options.get("deadline_s"),
        speculate=options.get("speculate"),
        adapters=_scales(options.get("adapters")),
    )
