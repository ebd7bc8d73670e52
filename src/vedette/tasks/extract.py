"""Text to one JSON object that fits a schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jsonschema_rs
import orjson

from vedette.backends.base import Backend, Result
from vedette.engine.constraint.grounded import has_grounding
from vedette.engine.constraint.json_schema import parse_schema
from vedette.engine.constraint.verbatim import has_verbatim
from vedette.errors import CapabilityMissing, ConstraintFailed, InputTooLong, SchemaError
from vedette.types import (
    Answer,
    Completion,
    Constraint,
    Item,
    Json,
    Message,
    Prompt,
    Request,
    Usage,
)

from .base import Steps
from .budget import answer_tokens
from .empty import empty_answer
from .merge import merge
from .outline import example_of, outline
from .prompt_data import fill, text_of
from .spans import spans_of
from .windows import windows

# Beyond this a small model loses the thread, whatever context its label promises.
WINDOW_TOKENS = 1500
OVERLAP_TOKENS = 100


@dataclass(frozen=True, slots=True)
class Example:
    """A row with its right answer, shown to the model before the item."""

    text: str
    value: Json


@dataclass(frozen=True)
class Extract:
    """Implements `Task`: one JSON object for each text, always valid against `schema`.

    Strings that the schema marks `"x-verbatim": true` are spans of the text, with their offsets
    in the answer's `spans`. A text over `window_tokens` is read in overlapping windows whose
    answers are merged, and the answer says so. `max_tokens` None takes what the schema's bounds
    can come to need. Raises `SchemaError` for a schema that is not one and for examples that do
    not fit it.
    """

    schema: dict[str, Any]
    examples: tuple[Example, ...] = ()
    instructions: str = ""
    max_tokens: int | None = None
    window_tokens: int = WINDOW_TOKENS
    name: str = field(default="extract", init=False)

    def __post_init__(self) -> None:
        parse_schema(orjson.dumps(self.schema))
        for i, example in enumerate(self.examples, start=1):
            error = next(self._validator.iter_errors(example.value), None)
            if error is not None:
                raise SchemaError(f"example {i} does not fit the schema: {error.message}")

    @cached_property
    def _validator(self) -> jsonschema_rs.Validator:
        return jsonschema_rs.validator_for(self.schema, validate_formats=True)

    @cached_property
    def _schema_text(self) -> str:
        return orjson.dumps(self.schema).decode()

    @cached_property
    def _reads_input(self) -> bool:
        """Whether what a field may be depends on the item's text."""
        return has_verbatim(self.schema) or has_grounding(self.schema)

    @cached_property
    def shared_messages(self) -> tuple[Message, ...]:
        """What every item's prompt begins with: instructions, outline, examples."""
        system = fill(text_of("extract", "system"), fields=outline(self.schema))
        if self.instructions:
            system = f"{system}\n{self.instructions}"
        if not self.examples:
            form = orjson.dumps(example_of(self.schema)).decode()
            system += fill(text_of("extract", "form"), example=form)
        messages = [Message("system", system)]
        for example in self.examples:
            messages.append(Message("user", example.text))
            messages.append(Message("assistant", orjson.dumps(example.value).decode()))
        return tuple(messages)

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        return {
            "schema": self.schema,
            "prompt": [[m.role, m.content] for m in self.shared_messages],
            "parameters": {"max_tokens": self.max_tokens, "window_tokens": self.window_tokens},
        }

    def prompt(self, text: str) -> Prompt:
        """The prompt for one text."""
        shared = self.shared_messages
        return Prompt(messages=(*shared, Message("user", text)), shared_messages=len(shared))

    def request(self, text: str, n_tokens: int) -> Request:
        """The request for one text (or window) of `n_tokens` tokens."""
        budget = self.max_tokens or answer_tokens(self.schema, n_tokens)
        source = text if self._reads_input else ""
        return Request(
            prompt=self.prompt(text),
            constraint=Constraint("json_schema", self._schema_text, source),
            max_tokens=budget,
        )

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        if not backend.capabilities.can_constrain:
            raise CapabilityMissing("extract needs a backend that can constrain its output")
        if not item.text.strip():
            return Answer(value=empty_answer(self.schema, self._validator), extra={"empty": True})
        n_tokens = backend.count_tokens(item.text)
        if n_tokens <= self.window_tokens:
            (result,) = yield [self.request(item.text, n_tokens)]
            return self._answer(item.text, [self._value(result)], _usage([result]))
        parts = windows(
            item.text,
            backend.count_tokens,
            limit_tokens=self._fitting(backend),
            overlap_tokens=OVERLAP_TOKENS,
        )
        asks = [self.request(part.text, self.window_tokens) for part in parts]
        results = yield asks
        values = [self._value(result) for result in results]
        return self._answer(item.text, values, _usage(results))

    def _fitting(self, backend: Backend) -> int:
        """Tokens of text that fit beside the shared part and the answer."""
        shared = sum(backend.count_tokens(m.content) + 8 for m in self.shared_messages)
        answer = self.max_tokens or answer_tokens(self.schema, self.window_tokens)
        room = backend.capabilities.context_tokens - shared - answer - 16
        if room < 16:
            raise InputTooLong(
                f"the instructions take {shared} tokens and the answer up to {answer}; "
                f"of {backend.capabilities.context_tokens} nothing is left for the text",
                hint="use fewer examples, or a model with more context",
            )
        return min(self.window_tokens, room)

    def _value(self, result: Result) -> Json:
        """The parsed answer; what came out under the grammar is held against the schema again."""
        if not isinstance(result, Completion):
            raise TypeError("extract asked for a completion")
        value: Json = orjson.loads(result.text)
        error = next(self._validator.iter_errors(value), None)
        if error is not None:
            raise ConstraintFailed(f"the answer does not fit the schema: {error.message}")
        return value

    def _answer(self, text: str, values: Sequence[Json], usage: Usage) -> Answer:
        value = merge(values, self.schema) if len(values) > 1 else values[0]
        extra: dict[str, Json] = {}
        if len(values) > 1:
            extra["windows"] = len(values)
        if self._reads_input:
            extra["spans"] = spans_of(value, self.schema, text)
        return Answer(value=value, usage=usage, extra=extra)


def _usage(results: Sequence[Result]) -> Usage:
    return sum((result.usage for result in results), Usage())
