"""A text for a text, free or under a constraint."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import orjson

from vedette.backends.base import Backend
from vedette.engine.constraint.grounded import reads_input
from vedette.engine.constraint.json_schema import parse_schema
from vedette.errors import CapabilityMissing
from vedette.json_text import json_text
from vedette.types import (
    Answer,
    Constraint,
    Item,
    Json,
    Message,
    Prompt,
    Request,
    Sampling,
)

from .base import Steps
from .budget import check_at_least_1
from .outline import example_of, outline
from .prompt_data import fill, text_of
from .reply import completion_of, cut_of, json_of


@dataclass(frozen=True)
class Generate:
    """Implements `Task`: the item's text is the user's turn, the value what the model says.

    Under a JSON Schema the value is the parsed answer, and the prompt shows the schema (in a
    compact form, with an example) unless `prompt_schema` is false. An answer that was cut says so
    under `cut`, and what a model thought before it stands under `thought`. Raises `InputError`
    for a `max_tokens` that is none.
    """

    constraint: Constraint | None = None
    instructions: str = ""
    max_tokens: int = 256
    sampling: Sampling = field(default_factory=Sampling)
    stop: tuple[str, ...] = ()
    prompt_schema: bool = True
    think: Literal["off", "free"] | int = "off"
    name: str = field(default="generate", init=False)

    def __post_init__(self) -> None:
        check_at_least_1("max_tokens", self.max_tokens)

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        return {
            "constraint": _plain(asdict(self.constraint)) if self.constraint else None,
            "system": self.system,
            "parameters": _plain(
                {
                    "max_tokens": self.max_tokens,
                    "sampling": asdict(self.sampling),
                    "stop": [*self.stop],
                    "think": self.think,
                }
            ),
        }

    @cached_property
    def _schema(self) -> dict[str, Any] | None:
        """The JSON Schema, if the constraint is one."""
        if self.constraint is None or self.constraint.kind != "json_schema":
            return None
        return parse_schema(self.constraint.source, self.constraint.options)

    @cached_property
    def system(self) -> str:
        """The system turn: the instructions, and the schema as the model is shown it."""
        return "\n".join(filter(None, (self.instructions, self.schema_prompt)))

    @cached_property
    def schema_prompt(self) -> str:
        """See `ShowsSchema`."""
        if self._schema is None or not self.prompt_schema:
            return ""
        lines, example = outline(self._schema), json_text(example_of(self._schema))
        text = text_of("generate", "fields" if lines else "form")
        return fill(text, fields=lines, example=example)

    def prompt(self, text: str) -> Prompt:
        """The prompt for one text."""
        system = (Message("system", self.system),) if self.system else ()
        return Prompt(messages=(*system, Message("user", text)), shared_messages=len(system))

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        if self.constraint is not None and not backend.capabilities.can_constrain:
            raise CapabilityMissing("this needs a backend that can constrain its output")
        if not item.text.strip():
            return Answer(value=None, extra={"empty": True})
        constraint = self.constraint
        if constraint is not None and reads_input(self._schema):
            constraint = replace(constraint, input=item.text)
        (result,) = yield [
            Request(
                prompt=self.prompt(item.text),
                constraint=constraint,
                max_tokens=self.max_tokens,
                sampling=self.sampling,
                stop=self.stop,
                think=self.think,
            )
        ]
        completion = completion_of(result)
        extra = cut_of(completion)
        if completion.thought:
            extra["thought"] = completion.thought
        value = json_of(completion) if self._schema is not None else completion.text
        return Answer(value=value, usage=completion.usage, extra=extra)


def _plain(value: object) -> Json:
    plain: Json = orjson.loads(orjson.dumps(value))
    return plain
