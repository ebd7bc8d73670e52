"""Chats with tools for models whose own template knows none: all of it in words."""

from __future__ import annotations

from collections.abc import Sequence

from vedette.engine.call_form import CallTexts, plain_form
from vedette.types import Message, ToolCall

from .prompt_data import fill, text_of
from .tool_defs import Tool

WRITTEN = CallTexts(
    opening='{"name": "', middle='", "arguments": ', closing="}", between='}\n{"name": "'
)
WRITTEN_FORM = plain_form(WRITTEN)
"""How such a model is told to call: small models know JSON, and few marks beside it."""


def in_words(messages: Sequence[Message], tools: Sequence[Tool]) -> tuple[Message, ...]:
    """The chat in turns of system, user and assistant; tools stand at the system turn's end.

    Results are the user's turns, and what the user says next is part of the same turn.
    """
    turns: list[Message] = []
    names = [call.name for message in messages for call in message.calls]
    follows_result = False
    for message in messages:
        turn = _in_words(message, names)
        if turn.role == "user" and follows_result:
            before = turns.pop()
            turn = Message("user", f"{before.content}\n{turn.content}")
        turns.append(turn)
        follows_result = message.role == "tool"
    return _with_tools(turns, tools) if tools else tuple(turns)


def _in_words(message: Message, names: Sequence[str]) -> Message:
    if message.role == "tool":
        result = fill(
            text_of("chat_tools", "result"), name=names[message.call], result=message.content
        )
        return Message("user", result)
    if not message.calls:
        return message
    calls = written_calls(message.calls)
    return Message(message.role, f"{message.content}\n{calls}" if message.content else calls)


def written_calls(calls: Sequence[ToolCall]) -> str:
    """The calls as such a model writes them."""
    between = WRITTEN.between or ""
    each = between.join(f"{call.name}{WRITTEN.middle}{call.arguments}" for call in calls)
    return f"{WRITTEN.opening}{each}{WRITTEN.closing}"


def _with_tools(turns: Sequence[Message], tools: Sequence[Tool]) -> tuple[Message, ...]:
    manuals = "\n".join(f"- {tool.manual}" for tool in tools)
    told = fill(text_of("chat_tools", "tools"), tools=manuals).strip()
    if turns and turns[0].role == "system":
        return (Message("system", f"{turns[0].content}\n\n{told}"), *turns[1:])
    return (Message("system", told), *turns)
