"""The turns of a chat as clients send them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, Literal, TypeAlias

import orjson
from pydantic import Field

from vedette.pictures.content import joined
from vedette.types import Message, Picture, Placed, ToolCall

from .body import Body
from .pictures import Pictures, Talk, check_number, urls_in
from .problems import Refusal

NO_SOUND = "this server reads and writes text"


class ImageUrl(Body):
    """A picture as a data URL."""

    url: str
    refused: ClassVar = {"detail": (("auto",), "pictures are shown as the model was made for")}


class ContentPart(Body):
    """A part of a message: a text, or a picture."""

    type: str
    text: str | None = None
    image_url: ImageUrl | None = None
    refused: ClassVar = dict.fromkeys(
        ("input_audio", "file"), ((), "this server reads texts and pictures only")
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
    content: str | Annotated[list[ContentPart], Field(min_length=1)] | None = None
    tool_calls: list[SentCall] | None = None
    tool_call_id: str | None = None
    refused: ClassVar = {
        "name": ((), "chat templates know no names"),
        "function_call": ((), "it was replaced by tool_calls"),
        "refusal": ((), "an answer has no refusal here"),
        "audio": ((), NO_SOUND),
        "annotations": (([],), "an answer has no annotations here"),
    }


Load: TypeAlias = Callable[[str, str], Picture]
"""What makes a picture of a URL; the second is the field to name where that cannot be."""


async def seen_talk(messages: Sequence[ChatMessage], pictures: Pictures) -> Talk:
    """The turns as the backend can take them. Raises `Refusal`, and what `Pictures.talk` does."""
    n_pictures = urls_in([message.content for message in messages], "image_url")
    check_number(n_pictures)
    return await pictures.talk(lambda: talk_of(messages, pictures.load), has_some=n_pictures > 0)


def talk_of(messages: Sequence[ChatMessage], load: Load) -> tuple[Message, ...]:
    """The turns, their pictures loaded; texts that follow each other are parted by line breaks.

    Raises `Refusal` for calls and results that do not belong together, and for pictures that are
    none or stand in a turn that is not the user's.
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
        text, placed = _content_of(message, place, load)
        talk.append(
            Message(
                "system" if message.role == "developer" else message.role,
                text,
                tuple(
                    _call_of(sent.function.name, sent.function.arguments, place) for sent in calls
                ),
                _number_of(message, numbers, place),
                placed,
            )
        )
    return tuple(talk)


def _content_of(message: ChatMessage, place: str, load: Load) -> tuple[str, tuple[Placed, ...]]:
    if message.content is None:
        if message.role == "assistant" and message.tool_calls:
            return "", ()
        raise Refusal(f"{place}.content is missing", param=f"{place}.content")
    if isinstance(message.content, str):
        return message.content, ()
    parts = [
        _part(part, message.role, f"{place}.content.{at}", load)
        for at, part in enumerate(message.content)
    ]
    return joined(parts)


def _part(part: ContentPart, role: str, place: str, load: Load) -> str | Picture:
    given = {"text": part.text, "image_url": part.image_url}
    if part.type not in given:
        raise Refusal(
            f"{place}.type must be text or image_url, not {part.type!r}", param=f"{place}.type"
        )
    if given[part.type] is None or sum(value is not None for value in given.values()) > 1:
        raise Refusal(f"{place}: a part of type {part.type} has a {part.type}", param=place)
    if part.image_url is None:
        return part.text or ""
    return load(of_user(part.image_url.url, role, place), f"{place}.image_url.url")


def of_user(url: str, role: str, place: str) -> str:
    """The URL of a picture. Raises `Refusal` for one that another than the user shows."""
    if role != "user":
        raise Refusal(f"{place}: only a user's turn has pictures, not the {role}'s", param=place)
    return url


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
