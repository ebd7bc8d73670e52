"""The turns of a chat as clients send them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import orjson
from pydantic import Field

from vedette.types import Message, ToolCall

from .body import Body
from .problems import Refusal

NO_SOUND = "this server reads and writes text"


class TextPart(Body):
    """A part of a message."""

    type: str
    text: str | None = None
    refused: ClassVar = dict.fromkeys(
        ("image_url", "input_audio", "file"), ((), "this server reads text only")
    )


class CalledFunction(Body):
    """What an assistant's turn called."""

    name: str
    arguments: str


class SentCall(Body):
    """A call as it comes back. `index` is what streams have."""

    id: str
    type: Literal["function"] = "function"
    function: CalledFunction
    index: int | None = None


class ChatMessage(Body):
    """A turn of a chat. What an assistant's turn has beside its text may be sent back empty."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | Annotated[list[TextPart], Field(min_length=1)] | None = None
    tool_calls: list[SentCall] | None = None
    tool_call_id: str | None = None
    refused: ClassVar = {
        "name": ((), "chat templates know no names"),
        "function_call": ((), "it was replaced by tool_calls"),
        "refusal": ((), "an answer has no refusal here"),
        "audio": ((), NO_SOUND),
        "annotations": (([],), "an answer has no annotations here"),
    }


def talk_of(messages: Sequence[ChatMessage]) -> tuple[Message, ...]:
    """The turns as a backend takes them; parts are joined by line breaks.

    Raises `Refusal` for calls and results that do not belong together.
    """
    talk: list[Message] = []
    numbers: dict[str, int] = {}  # of the calls, by their ids
    n_calls = 0
    for at, message in enumerate(messages):
        place = f"messages.{at}"
        calls = message.tool_calls or []
        if calls and message.role != "assistant":
            raise Refusal(f"{place}: only an assistant calls tools", param=f"{place}.tool_calls")
        for sent in calls:
            numbers[sent.id] = n_calls
            n_calls += 1
        talk.append(
            Message(
                "system" if message.role == "developer" else message.role,
                _content_of(message, place),
                tuple(
                    _call_of(sent.function.name, sent.function.arguments, place) for sent in calls
                ),
                _number_of(message, numbers, place),
            )
        )
    return tuple(talk)


def _content_of(message: ChatMessage, place: str) -> str:
    if message.content is None:
        if message.role == "assistant" and message.tool_calls:
            return ""
        raise Refusal(f"{place}.content is missing", param=f"{place}.content")
    if isinstance(message.content, str):
        return message.content
    return "\n".join(_text_of(part) for part in message.content)


def _text_of(part: TextPart) -> str:
    if part.type != "text" or part.text is None:
        raise Refusal(
            f"a part of a message must be of type text and have a text, not {part.type!r}",
            param="messages",
        )
    return part.text


def _number_of(message: ChatMessage, numbers: dict[str, int], place: str) -> int:
    param = f"{place}.tool_call_id"
    if message.role != "tool":
        if message.tool_call_id is not None:
            raise Refusal(f"{param} goes with the role tool", param=param)
        return 0
    if message.tool_call_id is None:
        raise Refusal(f"{param} is missing: which call is this the result of?", param=param)
    if message.tool_call_id not in numbers:
        raise Refusal(
            f"{param}: no turn before has made the call {message.tool_call_id!r}", param=param
        )
    return numbers[message.tool_call_id]


def _call_of(name: str, arguments: str, place: str) -> ToolCall:
    return call_of(name, arguments, f"{place}.tool_calls")


def call_of(name: str, arguments: str, param: str) -> ToolCall:
    """A call that was made before. Raises `Refusal` where its arguments are no JSON object."""
    try:
        value = orjson.loads(arguments or "{}")
    except orjson.JSONDecodeError as error:
        raise Refusal(f"{param}: the arguments are not JSON: {error.msg}", param=param) from error
    if not isinstance(value, dict):
        raise Refusal(f"{param}: the arguments must be a JSON object", param=param)
    return ToolCall(name, arguments or "{}")
