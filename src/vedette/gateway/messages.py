"""What the gateway reads of a chat completion's body; all else is passed on as it stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vedette.errors import InputError

from .passage import Object

INSTRUCTING = ("system", "developer")


def check_body(body: Mapping[str, Any]) -> None:
    """Raises `InputError` for a body of which the gateway cannot tell what is asked."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise InputError("messages must be a list with at least one message")
    for number, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise InputError(f"messages.{number} must be an object with a role")
        content = message.get("content")
        is_parts = isinstance(content, list) and all(isinstance(one, dict) for one in content)
        if content is not None and not isinstance(content, str) and not is_parts:
            raise InputError(f"messages.{number}.content must be a text or a list of parts")
    for name, kinds in (("stream", bool), ("n", int), ("stream_options", dict)):
        if body.get(name) is not None and not isinstance(body[name], kinds):
            raise InputError(f"{name} must be of the type {kinds.__name__}")
    if body.get("stream_options") is not None and not body.get("stream"):
        raise InputError("stream_options goes with stream")


def is_streamed(body: Mapping[str, Any]) -> bool:
    """Whether the answer comes in pieces."""
    return bool(body.get("stream"))


def counting(body: Mapping[str, Any]) -> Object:
    """The body of a stream that is to end with its usage, whether the client asks for it or not."""
    options = body.get("stream_options") or {}
    return {**body, "stream_options": {**options, "include_usage": True}}


def wants_usage(body: Mapping[str, Any]) -> bool:
    """Whether a stream is to end with its usage."""
    return bool((body.get("stream_options") or {}).get("include_usage"))


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message; parts of it are joined by line breaks."""
    content = message.get("content")
    if isinstance(content, list):
        parts = (part.get("text") for part in content if part.get("type") == "text")
        return "\n".join(part for part in parts if isinstance(part, str))
    return content or ""


def with_text(message: Object, text: str) -> Object:
    """The message with this text in the place of its own."""
    return {**message, "content": text}


def texts_by(body: Mapping[str, Any], *, instructing: bool) -> list[str]:
    """The texts of the turns that instruct, or of all the others."""
    return [
        text_of(message)
        for message in body["messages"]
        if (message["role"] in INSTRUCTING) == instructing
    ]


def last_user_text(body: Mapping[str, Any]) -> str:
    """The text of the user's last turn; empty where there is none."""
    turns = [text_of(message) for message in body["messages"] if message["role"] == "user"]
    return turns[-1] if turns else ""


def most_tokens(body: Mapping[str, Any]) -> int | None:
    """How long the answer may be; None where that is left open, or said in another way."""
    told = [body.get(name) for name in ("max_completion_tokens", "max_tokens")]
    return next((one for one in told if isinstance(one, int)), None)


def is_plain(body: Mapping[str, Any]) -> bool:
    """Whether one text is asked for, of one user's turn, and nothing of how it comes about."""
    roles = [message["role"] for message in body["messages"] if message["role"] not in INSTRUCTING]
    fancy = ("tools", "functions", "logprobs", "top_logprobs", "stop", "audio")
    only_text = all(
        part.get("type") == "text"
        for message in body["messages"]
        if isinstance(message.get("content"), list)
        for part in message["content"]
    )
    return (
        roles == ["user"]
        and only_text
        and body.get("n") in (None, 1)
        and not any(body.get(name) for name in fancy)
    )


def is_repeatable(body: Mapping[str, Any]) -> bool:
    """Whether the same body is meant to be answered with the same text."""
    if body.get("seed") is not None:
        return True
    return body.get("temperature") == 0 and not isinstance(body["temperature"], bool)
