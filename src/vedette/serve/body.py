"""What every body is: fields held strictly, and those that this server cannot heed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from vedette.types import Json

from .problems import Refusal


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
