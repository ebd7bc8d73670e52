"""A conversation as one text."""

from __future__ import annotations

from vedette.errors import InputError
from vedette.types import Json


def history_text(value: Json) -> str:
    """A history as the model reads it, a line for each message; a text is taken as it is.

    Raises `InputError` for what is neither a text nor a list of messages.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip()
    if not isinstance(value, list):
        raise InputError("the history must be a text, or a list of messages")
    return "\n".join(_line(message, i) for i, message in enumerate(value))


def split_messages(value: Json) -> tuple[str, list[Json]]:
    """The text of the last message, which is the user's, and the messages before it.

    Raises `InputError` for a list that does not end with one.
    """
    if not isinstance(value, list) or not value:
        raise InputError("messages must be a list of {role, content}, the user's question the last")
    last = value[-1]
    if not isinstance(last, dict) or last.get("role") != "user":
        raise InputError("the last of the messages is not the user's, so there is no question")
    content = last.get("content")
    if not isinstance(content, str):
        raise InputError("the content of the last message is not a text")
    return content, value[:-1]


def _line(message: Json, i: int) -> str:
    if not isinstance(message, dict):
        raise InputError(f"message {i + 1} of the history is not an object")
    role, content = message.get("role"), message.get("content")
    if not isinstance(role, str) or not isinstance(content, str):
        raise InputError(f"message {i + 1} of the history needs a role and a content, both texts")
    return f"{role}: {content.strip()}"
