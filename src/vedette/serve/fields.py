"""What bodies that ask for generated text have in common."""

from __future__ import annotations

import secrets
from typing import Annotated, Any, ClassVar

from pydantic import Field

from vedette.types import Sampling

from .body import Body as Body
from .forms import FormFields
from .problems import Refusal

StopText = Annotated[str, Field(min_length=1)]
MOST_CHOICES = 128
SAMPLING = (
    *("temperature", "top_p", "top_k", "min_p"),
    *("repeat_penalty", "presence_penalty", "frequency_penalty"),
)


class StreamOptions(Body):
    """How a stream is sent."""

    include_usage: bool = False
    refused: ClassVar = {"include_obfuscation": ((False,), "nothing is obfuscated here")}


class LoraScale(Body):
    """An adapter by its number, and its scale in a request."""

    id: Annotated[int, Field(ge=0)]
    scale: Annotated[float, Field(allow_inf_nan=False)]


class AnswerFields(FormFields):
    """What may be asked of a generated answer."""

    model: str
    max_tokens: Annotated[int | None, Field(ge=1)] = None
    temperature: Annotated[float | None, Field(ge=0, le=2)] = None
    top_p: Annotated[float | None, Field(gt=0, le=1)] = None
    top_k: Annotated[int | None, Field(ge=0, le=1_000_000)] = None
    min_p: Annotated[float | None, Field(ge=0, le=1)] = None
    repeat_penalty: Annotated[float | None, Field(gt=0)] = None
    presence_penalty: Annotated[float | None, Field(ge=-2, le=2)] = None
    frequency_penalty: Annotated[float | None, Field(ge=-2, le=2)] = None
    logit_bias: dict[str, float] | None = None
    seed: int | None = None
    n: Annotated[int | None, Field(ge=1, le=MOST_CHOICES)] = None
    stop: StopText | list[StopText] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    lora: list[LoraScale] | None = None
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
        given: dict[str, Any] = {
            name: value for name in SAMPLING if (value := getattr(self, name)) is not None
        }
        if self.logit_bias:
            given["logit_bias"] = tuple(sorted(map(_bias, self.logit_bias.items())))
        seed = secrets.randbits(31) if self.seed is None else self.seed
        return [Sampling(**given, seed=seed + i) for i in range(n)]


def _bias(entry: tuple[str, float]) -> tuple[int, float]:
    token, bias = entry
    if not (token.isascii() and token.isdigit()):
        raise Refusal(f"logit_bias: {token!r} is no token; tokens are numbers", param="logit_bias")
    if not -100 <= bias <= 100:
        raise Refusal(
            f"logit_bias: a bias must be from -100 to 100, not {bias:g}", param="logit_bias"
        )
    return int(token), bias
