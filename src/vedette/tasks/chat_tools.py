"""Chats with tools in words: for models whose own template knows none, and for answers in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import orjson

from vedette.engine.call_form import CallTexts, plain_form
from vedette.json_text import json_text
from vedette.types import Message, ToolCall

from .prompt_data import fill, text_of
from .tool_defs import Tool

WRITTEN = CallTexts(
    opening='{"name": "', middle='", "arguments": ', closing="}", between='}\n{"name": "'
)
WRITTEN_FORM = plain_form(WRITTEN)
"""How such a model is told to call: small models know JSON, and few marks beside it."""


def in_words(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The chat without calls: what they returned is part of the user's turn that they served.

    Small models write calls where they see some, so that they are to see none when they answer.
    """
    calls = [call for message in messages for call in message.calls]
    turns: list[Message] = []
    for message in messages:
        if message.role == "tool":
            _add_to_user(turns, _result(calls[message.call], message.content))
        elif message.content or message.pictures or not message.calls:
            turns.append(Message(message.role, message.content, pictures=message.pictures))
    return tuple(turns)


def with_tools_in_words(messages: Sequence[Message], tools: Sequence[Tool]) -> tuple[Message, ...]:
    """The chat with its calls as text, and what can be called at the end of the system's turn."""
    calls = [call for message in messages for call in message.calls]
    turns: list[Message] = []
    for message in messages:
        if message.role == "tool":
            _add_to_user(turns, _result(calls[message.call], message.content))
        elif message.calls:
            texts = [message.content, written_calls(message.calls)]
            text = "\n".join(filter(None, texts))
            turns.append(Message(message.role, text, pictures=message.pictures))
        else:
            turns.append(message)
    told = fill(
        text_of("chat_tools", "tools"), tools="\n".join(f"- {tool.manual}" for tool in tools)
    )
    if turns and turns[0].role == "system":
        return (Message("system", f"{turns[0].content}\n\n{told}"), *turns[1:])
    return (Message("system", told), *turns)


def written_calls(calls: Sequence[ToolCall]) -> str:
    """The calls as a model writes them that was told so in words."""
    between = WRITTEN.between or ""
    each = between.join(f"{call.name}{WRITTEN.middle}{call.arguments}" for call in calls)
    return f"{WRITTEN.opening}{each}{WRITTEN.closing}"


def _result(call: ToolCall, returned: str) -> str:
    arguments = orjson.loads(call.arguments)
    shown = ", ".join(
        f"{name}={value if isinstance(value, str) else json_text(value)}"
        for name, value in arguments.items()
    )
    return fill(text_of("chat_tools", "result"), name=call.name, arguments=shown, result=returned)


def _add_to_user(turns: list[Message], text: str) -> None:
    """What a tool says is for the model to read, as what the user says is."""
    if turns and turns[-1].role == "user":
        turns[-1] = replace(turns[-1], content=f"{turns[-1].content}\n\n{text}")
    else:
        turns.append(Message("user", text))
