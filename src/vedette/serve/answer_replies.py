"""Generated answers, whole and in chunks, as `/openapi.json` describes them; see `replies`."""

from __future__ import annotations

from typing import Literal

from .replies import AnswerUsage, Beside, Reply

FinishReason = Literal["stop", "length", "tool_calls"]


class LikelyToken(Reply):
    """A token that could have been; `bytes` is null for a part of a character."""

    token: str
    logprob: float
    bytes: list[int] | None


class ChatToken(LikelyToken):
    """A token of an answer, and the likeliest at its place."""

    top_logprobs: list[LikelyToken]


class ChatLogprobs(Reply):
    """The tokens of an answer."""

    content: list[ChatToken]
    refusal: None


class CalledFunction(Reply):
    """A function by its name, and its arguments as JSON in a text."""

    name: str
    arguments: str


class ToolCallReply(Reply):
    """A call that the model asks for."""

    id: str
    type: Literal["function"]
    function: CalledFunction


class AnswerMessage(Reply):
    """The model's turn; `content` is null where it only calls tools."""

    role: Literal["assistant"]
    content: str | None
    tool_calls: list[ToolCallReply] | None = None


class ChatChoice(Reply):
    """One answer."""

    index: int
    message: AnswerMessage
    logprobs: ChatLogprobs | None
    finish_reason: FinishReason


class ChatReply(Reply):
    """A chat completion."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[ChatChoice]
    usage: AnswerUsage
    vedette: Beside | None = None


class FunctionDelta(Reply):
    """What comes next of a call's function: its name, then pieces of its arguments."""

    arguments: str
    name: str | None = None


class CallDelta(Reply):
    """What comes next of a call."""

    index: int
    function: FunctionDelta
    id: str | None = None
    type: Literal["function"] | None = None


class Delta(Reply):
    """What comes next of a turn."""

    role: Literal["assistant"] | None = None
    content: str | None = None
    tool_calls: list[CallDelta] | None = None


class ChatChunkChoice(Reply):
    """What comes next of one answer."""

    index: int
    delta: Delta
    logprobs: ChatLogprobs | None
    finish_reason: FinishReason | None


class ChatChunk(Reply):
    """An event of a streamed chat completion."""

    id: str
    object: Literal["chat.completion.chunk"]
    created: int
    model: str
    choices: list[ChatChunkChoice]
    usage: AnswerUsage | None = None
    vedette: Beside | None = None


class TextLogprobs(Reply):
    """The tokens of a text, in columns."""

    tokens: list[str]
    token_logprobs: list[float]
    top_logprobs: list[dict[str, float]] | None
    text_offset: list[int]


class TextChoice(Reply):
    """How one text goes on."""

    index: int
    text: str
    logprobs: TextLogprobs | None
    finish_reason: Literal["stop", "length"]


class TextReply(Reply):
    """A text completion."""

    id: str
    object: Literal["text_completion"]
    created: int
    model: str
    choices: list[TextChoice]
    usage: AnswerUsage


class TextChunkChoice(Reply):
    """What comes next of one text."""

    index: int
    text: str
    logprobs: TextLogprobs | None
    finish_reason: Literal["stop", "length"] | None


class TextChunk(Reply):
    """An event of a streamed text completion."""

    id: str
    object: Literal["text_completion"]
    created: int
    model: str
    choices: list[TextChunkChoice]
    usage: AnswerUsage | None = None
