"""The items of which the input of `/v1/responses` is made, as the turns of a chat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Field, ValidationError

from vedette.pictures.content import joined
from vedette.types import Json, Message, Picture, Placed

from .body import Body
from .messages import Load, call_of, of_user
from .pictures import Pictures, Talk, check_number
from .problems import Refusal

NO_OTHERS: tuple[tuple[Json, ...], str] = ((), "functions are called by the model itself")


class _Item(Body):
    """What every item may bring along of the answer that it was part of."""

    type: str = "message"
    id: str | None = None
    status: str | None = None


class TextPart(Body):
    """A part of a message, or of what a function returned."""

    type: Literal["input_text", "output_text"]
    text: str
    annotations: list[dict[str, Any]] | None = None
    logprobs: list[dict[str, Any]] | None = None


class PicturePart(Body):
    """A picture as a data URL."""

    type: Literal["input_image"]
    image_url: str
    refused: ClassVar = {
        "detail": (("auto",), "pictures are shown as the model was made for"),
        "file_id": ((), "send the picture itself, as a data URL"),
    }


ContentPart: TypeAlias = Annotated[TextPart | PicturePart, Field(discriminator="type")]
_TRIED = ("list[", "str", "input_text", "output_text", "input_image")
"""What pydantic has tried, and no client has written as a place."""


class MessageItem(_Item):
    """A turn."""

    role: Literal["system", "developer", "user", "assistant"]
    content: str | Annotated[list[ContentPart], Field(min_length=1)]
    refused: ClassVar = {"phase": ((), "answers have no phases here")}


class CallItem(_Item):
    """A call that the model made."""

    call_id: str
    name: str
    arguments: str
    refused: ClassVar = dict.fromkeys(("caller", "namespace", "async"), NO_OTHERS)


class ResultItem(_Item):
    """What a call has returned."""

    call_id: str
    output: str | Annotated[list[TextPart], Field(min_length=1)]
    refused: ClassVar = dict.fromkeys(("caller", "namespace", "name"), NO_OTHERS)


_KINDS: Mapping[str, type[MessageItem | CallItem | ResultItem]] = {
    "message": MessageItem,
    "function_call": CallItem,
    "function_call_output": ResultItem,
}


async def seen_items(
    given: str | Sequence[dict[str, Any]], instructions: str | None, pictures: Pictures
) -> Talk:
    """The turns as the backend can take them. Raises `Refusal`, and what `Pictures.talk` does."""
    n_pictures = 0 if isinstance(given, str) else sum(map(_n_pictures, given))
    check_number(n_pictures)
    return await pictures.talk(
        lambda: talk_of_items(given, instructions, pictures.load), has_some=n_pictures > 0
    )


def _n_pictures(item: dict[str, Any]) -> int:
    content = item.get("content")
    parts = content if isinstance(content, list) else []
    return sum(isinstance(part, dict) and part.get("type") == "input_image" for part in parts)


def talk_of_items(
    given: str | Sequence[dict[str, Any]], instructions: str | None, load: Load
) -> tuple[Message, ...]:
    """The turns: the instructions first, calls with the assistant's turn that made them.

    Raises `Refusal` for what is no such item, for results of calls that were not made, and for
    pictures that are none or stand in a turn that is not the user's.
    """
    talk = [Message("system", instructions)] if instructions else []
    if isinstance(given, str):
        return (*talk, Message("user", given))
    if not given:
        raise Refusal("input: there is no item in it", param="input")
    numbers: dict[str, int] = {}  # of the calls, by their ids
    for at, raw in enumerate(given):
        place = f"input.{at}"
        match _item(raw, place):
            case MessageItem(role=role, content=content):
                text, placed = _content(content, role, place, load)
                own = "system" if role == "developer" else role
                talk.append(Message(own, text, pictures=placed))
            case CallItem(call_id=call_id, name=name, arguments=arguments):
                if not talk or talk[-1].role != "assistant":
                    talk.append(Message("assistant", ""))
                call = call_of(name, arguments, f"{place}.arguments")
                talk[-1] = replace(talk[-1], calls=(*talk[-1].calls, call))
                numbers[call_id] = len(numbers)
            case ResultItem(call_id=call_id, output=output):
                if call_id not in numbers:
                    raise Refusal(
                        f"{place}.call_id: no item before has made the call {call_id!r}",
                        param=f"{place}.call_id",
                    )
                talk.append(Message("tool", _text(output), call=numbers[call_id]))
    return tuple(talk)


def _item(raw: dict[str, Any], place: str) -> MessageItem | CallItem | ResultItem:
    kind = raw.get("type") or "message"
    if not isinstance(kind, str) or kind not in _KINDS:
        raise Refusal(
            f"{place}.type must be one of {', '.join(_KINDS)}, not {kind!r}",
            param=f"{place}.type",
        )
    try:
        return _KINDS[kind].model_validate({**raw, "type": kind})
    except ValidationError as error:
        first = max(error.errors(), key=lambda one: len(one["loc"]))
        parts = [str(part) for part in first["loc"] if not str(part).startswith(_TRIED)]
        param = ".".join([place, *parts])
        raise Refusal(f"{param}: {first['msg']}", param=param) from error


def _content(
    content: str | Sequence[TextPart | PicturePart], role: str, place: str, load: Load
) -> tuple[str, tuple[Placed, ...]]:
    """The text with the pictures in it."""
    if isinstance(content, str):
        return content, ()
    parts: list[str | Picture] = []
    for at, part in enumerate(content):
        param = f"{place}.content.{at}"
        if isinstance(part, TextPart):
            parts.append(part.text)
        else:
            parts.append(load(of_user(part.image_url, role, param), f"{param}.image_url"))
    return joined(parts)


def _text(content: str | Sequence[TextPart]) -> str:
    """Parts are joined by line breaks."""
    return content if isinstance(content, str) else "\n".join(part.text for part in content)
