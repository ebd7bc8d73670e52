"""Text to one JSON object that fits a schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import jsonschema_rs
import orjson

from vedette.backends.base import Backend, Identified, Result
from vedette.engine.constraint.grounded import reads_input
from vedette.engine.constraint.json_schema import parse_schema
from vedette.errors import (
    BudgetTooSmall,
    CapabilityMissing,
    ConstraintFailed,
    InputTooLong,
    NothingQualifies,
    SchemaError,
)
from vedette.json_text import json_text
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
from .budget import answer_tokens, check_at_least_1
from .calibrations import key_of
from .empty import empty_answer
from .extract_thresholds import ExtractThresholds, confidence_of
from .merge import merge
from .outline import example_of, outline
from .prompt_data import fill, text_of, with_instructions
from .reply import completion_of, json_of
from .spans import spans_of
from .windows import LEAST_WINDOW_TOKENS, useful_tokens, windows

# Beyond this a small model loses the thread, whatever context its label promises.
WINDOW_TOKENS = 1500
OVERLAP_TOKENS = 100

NO_OBJECT = (InputTooLong, NothingQualifies, BudgetTooSmall, ConstraintFailed)
"""Errors that say of a text that no object was to be had from it."""


@dataclass(frozen=True, slots=True)
class Example:
    """A row with its right answer, shown to the model before the item."""

    text: str
    value: Json


@dataclass(frozen=True)
class Extract:
    """Implements `Task`: one JSON object for each text, always valid against `schema`.

    Strings that the schema marks `"x-verbatim": true` are spans of the text, with their offsets in
    the answer's `spans`. A text over `window_tokens` (None: `WINDOW_TOKENS`, or less where `vedette
    context` found that the model is not good for so much) is read in overlapping windows whose
    answers are merged, and the answer says so. `max_tokens` None takes what the schema's bounds can
    come to need. `prompt_schema` false leaves out of the prompt what is said of the task and its
    schema, for models that were tuned on it. `thresholds`, made for this model, schema and prompt,
    say of each answer whether it is kept: `keep` in its `extra`, beside the `confidence`, which
    `tells_confidence` asks for without thresholds. Raises `SchemaError` for a schema that is not
    one and for examples that do not fit it.
    """

    schema: dict[str, Any]
    examples: tuple[Example, ...] = ()
    instructions: str = ""
    max_tokens: int | None = None
    window_tokens: int | None = None
    prompt_schema: bool = True
    thresholds: ExtractThresholds | None = None
    tells_confidence: bool = False
    name: str = field(default="extract", init=False)
    keeps_parts: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        try:
            source = orjson.dumps(self.schema)
        except TypeError as error:
            raise SchemaError(f"the schema cannot be written as JSON: {error}") from error
        parse_schema(source)
        check_at_least_1("max_tokens", self.max_tokens)
        check_at_least_1("window_tokens", self.window_tokens)
        for i, example in enumerate(self.examples, start=1):
            if (fault := self.fault_of(example.value)) is not None:
                raise SchemaError(f"example {i} does not fit the schema: {fault}")

    @cached_property
    def _validator(self) -> jsonschema_rs.Validator:
        return jsonschema_rs.validator_for(self.schema, validate_formats=True)

    def fault_of(self, value: Json) -> str | None:
        """What of a value does not fit the schema; None for one that fits."""
        fault = next(self._validator.iter_errors(value), None)
        return None if fault is None else str(fault.message)

    @cached_property
    def _schema_text(self) -> str:
        return orjson.dumps(self.schema).decode()

    @cached_property
    def _reads_input(self) -> bool:
        """Whether what a field may be depends on the item's text."""
        return reads_input(self.schema)

    @cached_property
    def shared_messages(self) -> tuple[Message, ...]:
        """What every item's prompt begins with: instructions, outline, examples."""
        system = self.instructions
        if self.prompt_schema:
            text = fill(text_of("extract", "system"), fields=outline(self.schema))
            system = with_instructions(text, self.instructions) + self._form
        messages = [Message("system", system)] if system else []
        for example in self.examples:
            messages.append(Message("user", example.text))
            messages.append(Message("assistant", json_text(example.value)))
        return tuple(messages)

    @cached_property
    def _form(self) -> str:
        """An example of the form, where no rows are shown that have it."""
        if self.examples:
            return ""
        return fill(text_of("extract", "form"), example=json_text(example_of(self.schema)))

    @property
    def schema_prompt(self) -> str:
        """See `ShowsSchema`."""
        return outline(self.schema) + self._form if self.prompt_schema else ""

    @property
    def why_text(self) -> str:
        """See `Sees`."""
        return "what its fields may be depends on the text" if self._reads_input else ""

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        return {
            "schema": self.schema,
            "prompt": [[m.role, m.content] for m in self.shared_messages],
            "parameters": {
                "max_tokens": self.max_tokens,
                "window_tokens": self.window_tokens,
                **({"thresholds": self.thresholds.identity} if self.thresholds else {}),
                **({"tells_confidence": True} if self.tells_confidence else {}),
            },
        }

    def key(self, backend: Identified) -> str:
        """What thresholds are made for: the schema, the prompt and the model."""
        plain = replace(self, thresholds=None, tells_confidence=False)
        return key_of(plain.identity, backend)

    @property
    def _is_judged(self) -> bool:
        return self.thresholds is not None or self.tells_confidence

    def prompt(self, text: str) -> Prompt:
        """The prompt for one text."""
        shared = self.shared_messages
        return Prompt(messages=(*shared, Message("user", text)), shared_messages=len(shared))

    def request(self, text: str, n_tokens: int) -> Request:
        """The request for one text (or window) of `n_tokens` tokens."""
        source = text if self._reads_input else ""
        return Request(
            prompt=self.prompt(text),
            constraint=Constraint("json_schema", self._schema_text, source),
            max_tokens=self._budget(n_tokens),
            logprobs=self._is_judged,
        )

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        if not backend.capabilities.can_constrain:
            raise CapabilityMissing("extract needs a backend that can constrain its output")
        if self.thresholds is not None:
            self.thresholds.check(self.key, backend)
        if not item.text.strip():
            return Answer(value=empty_answer(self.schema, self._validator), extra={"empty": True})
        n_tokens = backend.count_tokens(item.text)
        window = self._window_tokens(backend)
        if n_tokens <= min(window, self._room(backend, n_tokens)):
            (result,) = yield [self.request(item.text, n_tokens)]
            return self._answer(item.text, [self._value(result)], [result])
        parts = windows(
            item.text,
            backend.count_tokens,
            limit_tokens=self._fitting(backend),
            overlap_tokens=OVERLAP_TOKENS,
        )
        asks = [self.request(part.text, window) for part in parts]
        results = yield asks
        values = [self._value(result) for result in results]
        return self._answer(item.text, values, results)

    def _fitting(self, backend: Backend) -> int:
        """Tokens of a window: what fits beside the shared part and the answer."""
        window = self._window_tokens(backend)
        room = self._room(backend, window)
        if room < LEAST_WINDOW_TOKENS:
            context = backend.capabilities.context_tokens
            shared = self._shared_tokens(backend)
            raise InputTooLong(
                f"the instructions take {shared} tokens and the answer up to "
                f"{self._budget(window)}; of {context} there is no room for the text",
                hint="use fewer examples or a smaller max_tokens, or a model with more context",
            )
        return min(window, room)

    def _window_tokens(self, backend: Backend) -> int:
        return self.window_tokens or useful_tokens(WINDOW_TOKENS, backend)

    def _room(self, backend: Backend, n_tokens: int) -> int:
        """Tokens beside the shared part and the answer to a text of `n_tokens`."""
        taken = self._shared_tokens(backend) + self._budget(n_tokens) + 16
        return backend.capabilities.context_tokens - taken

    def _shared_tokens(self, backend: Backend) -> int:
        if backend not in self._counted:
            counts = (backend.count_tokens(m.content) + 8 for m in self.shared_messages)
            self._counted[backend] = sum(counts)
        return self._counted[backend]

    @cached_property
    def _counted(self) -> WeakKeyDictionary[Backend, int]:
        return WeakKeyDictionary()

    def _budget(self, n_tokens: int) -> int:
        return self.max_tokens or answer_tokens(self.schema, n_tokens)

    def _value(self, result: Result) -> Json:
        """The parsed answer; what came out under the grammar is held against the schema again."""
        value = json_of(completion_of(result))
        if (fault := self.fault_of(value)) is not None:
            raise ConstraintFailed(f"the answer does not fit the schema: {fault}")
        return value

    def _answer(self, text: str, values: Sequence[Json], results: Sequence[Result]) -> Answer:
        lost: list[int] = []
        value = merge(values, self.schema, self._validator.is_valid, lost)
        extra: dict[str, Json] = {}
        if len(values) > 1:
            extra["windows"] = len(values)
        if lost:
            extra["windows_cut"] = [*lost]
        cuts = [r.cut for r in results if isinstance(r, Completion) and r.cut]
        if cuts:
            extra["cut"] = cuts[0]
        if self._reads_input:
            extra["spans"] = spans_of(value, self.schema, text)
        if self._is_judged:
            confidence = confidence_of([completion_of(result) for result in results])
            extra["confidence"] = confidence
            if self.thresholds is not None:
                extra["keep"] = self.thresholds.keeps(confidence)
        return Answer(value=value, usage=_usage(results), extra=extra)


def _usage(results: Sequence[Result]) -> Usage:
    return sum((result.usage for result in results), Usage())
