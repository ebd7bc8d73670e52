"""What bodies have in common: fields held strictly, and those that this server cannot heed."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from vedette.types import Constraint, Json, Sampling

from .problems import Refusal

StopText = Annotated[str, Field(min_length=1)]
MOST_CHOICES = 128


class Body(BaseModel):
    """A body of which every field counts: an unknown one is refused.

    `refused` are fields of OpenAI's API that cannot be heeded: their neutral values, which change
    nothing and may be sent, and the reason that others are answered with.
    """

    model_config = ConfigDict(extra="forbid", strict=True)
    refused: ClassVar[Mapping[str, tuple[tuple[Json, ...], str]]] = {}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """With what may be sent of the refused fields."""
        reference = handler(core)
        schema = handler.resolve_ref_schema(reference)
        for name, (neutral, reason) in cls.refused.items():
            about = {"enum": [None, *neutral], "description": f"Changes nothing: {reason}."}
            schema.setdefault("properties", {})[name] = about
        return reference

    @model_validator(mode="before")
    @classmethod
    def _without_neutral(cls, body: Any) -> Any:
        if not isinstance(body, dict):
            return body
        for name, (neutral, reason) in cls.refused.items():
            if body.get(name) is not None and not _is_among(body[name], neutral):
                raise Refusal(f"{name}: {reason}", code="unsupported_parameter", param=name)
        return {name: value for name, value in body.items() if name not in cls.refused}


def _is_among(value: Json, neutral: Iterable[Json]) -> bool:
    """As JSON has it, where 0 is not false."""
    is_bool = isinstance(value, bool)
    return any(value == one and is_bool == isinstance(one, bool) for one in neutral)


class StreamOptions(Body):
    """How a stream is sent."""

    include_usage: bool = False
    refused: ClassVar = {"include_obfuscation": ((False,), "nothing is obfuscated here")}


class JsonSchema(Body):
    """The schema of `response_format`. Every schema is enforced, `strict` or not."""

    name: str = ""
    description: str | None = None
    schema_: Annotated[dict[str, Any], Field(alias="schema")]
    strict: bool | None = None


class ResponseFormat(Body):
    """What the answer must be."""

    type: str
    json_schema: JsonSchema | None = None

    def constraint(self) -> Constraint | None:
        """As a constraint. Raises `Refusal`."""
        if (self.type == "json_schema") != (self.json_schema is not None):
            raise Refusal("json_schema goes with type json_schema", param="response_format")
        if self.json_schema is not None:
            return schema_constraint(self.json_schema.schema_)
        if self.type == "json_object":
            return schema_constraint({"type": "object"})
        if self.type == "text":
            return None
        raise Refusal(
            f"response_format.type must be text, json_object or json_schema, not {self.type!r}",
            param="response_format.type",
        )


class AnswerFields(Body):
    """What may be asked of a generated answer."""

    model: str
    max_tokens: Annotated[int | None, Field(ge=1)] = None
    temperature: Annotated[float | None, Field(ge=0, le=2)] = None
    top_p: Annotated[float | None, Field(gt=0, le=1)] = None
    top_k: Annotated[int | None, Field(ge=0, le=1_000_000)] = None
    min_p: Annotated[float | None, Field(ge=0, le=1)] = None
    repeat_penalty: Annotated[float | None, Field(gt=0)] = None
    seed: int | None = None
    n: Annotated[int | None, Field(ge=1, le=MOST_CHOICES)] = None
    stop: StopText | list[StopText] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    response_format: ResponseFormat | None = None
    grammar: str | None = None
    json_schema: dict[str, Any] | None = None
    user: str | None = None

    @property
    def stops(self) -> tuple[str, ...]:
        """The stop strings."""
        if isinstance(self.stop, str):
            return (self.stop,)
        return tuple(self.stop or ())

    @property
    def includes_usage(self) -> bool:
        """Whether a stream ends with its usage. Raises `Refusal` where nothing is streamed."""
        if self.stream_options is not None and not self.stream:
            raise Refusal("stream_options goes with stream", param="stream_options")
        return self.stream_options is not None and self.stream_options.include_usage

    def samplings(self) -> list[Sampling]:
        """How each of the `n` answers is drawn; without a seed each run is another.

        Raises `Refusal` for several answers that could only be the same.
        """
        n = self.n or 1
        if n > 1 and not self.temperature:
            raise Refusal(
                f"n is {n}, and at temperature 0 (the default) all answers are the same; give a "
                "temperature",
                param="n",
            )
        given = {
            name: value
            for name in ("temperature", "top_p", "top_k", "min_p", "repeat_penalty")
            if (value := getattr(self, name)) is not None
        }
        seed = secrets.randbits(31) if self.seed is None else self.seed
        return [Sampling(**given, seed=seed + i) for i in range(n)]

    def constraint(self) -> Constraint | None:
        """What the answer is held to. Raises `Refusal` for more than one."""
        found = [
            self.response_format.constraint() if self.response_format else None,
            schema_constraint(self.json_schema) if self.json_schema is not None else None,
            Constraint("gbnf", self.grammar) if self.grammar is not None else None,
        ]
        given = [one for one in found if one is not None]
        if len(given) > 1:
            raise Refusal("give only one of response_format, json_schema and grammar")
        return given[0] if given else None


def schema_constraint(schema: dict[str, Any]) -> Constraint:
    """A JSON Schema as a constraint. Raises `Refusal` for what is no JSON by RFC 8259."""
    try:
        return Constraint("json_schema", orjson.dumps(schema).decode())
    except orjson.JSONEncodeError as error:
        raise Refusal(f"the schema cannot be written as JSON: {error}") from error


PENALTIES: Mapping[str, tuple[tuple[Json, ...], str]] = dict.fromkeys(
    ("presence_penalty", "frequency_penalty"),
    ((0,), "the engine has no such penalty; repeat_penalty is like it"),
)
NO_BIAS: tuple[tuple[Json, ...], str] = (({},), "tokens cannot be made likelier one by one")
