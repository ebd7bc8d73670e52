"""What every body is: fields held strictly, and those that this server cannot heed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, model_validator

from vedette.types import Json

from .problems import Refusal


class Body(BaseModel):
    """A body of which every field counts: an unknown one is refused.

    `refused` are fields of OpenAI's API that cannot be heeded: their neutral values, which change
    nothing and may be sent, and the reason that others are answered with.
    """

    model_config = ConfigDict(extra="forbid", strict=True)
    refused: ClassVar[Mapping[str, tuple[tuple[Json, ...], str]]] = {}

    @model_validator(mode="before")
    @classmethod
    def _without_neutral(cls, body: Any) -> Any:
        if not isinstance(body, dict):
            return body
        for name, (neutral, reason) in cls.refused.items():
            if body.get(name) is not None and body[name] not in neutral:
                raise Refusal(f"{name}: {reason}", code="unsupported_parameter", param=name)
        return {name: value for name, value in body.items() if name not in cls.refused}
