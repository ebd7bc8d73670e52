"""Tools in a chat template: what they hold is put aside, so that none of it can steer the template.

Templates show definitions and arguments by the filter `tojson`, or pick names and texts out of
them. Both leave marks in the rendered text, of which the texts are read as plain text afterwards.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import orjson
from jinja2 import pass_context
from jinja2.runtime import Context

from vedette.types import Json, Message, ToolCall

MARKS = "vedette_marks"
"""The template's variable that holds the `Marks` of its run."""

# Private-use characters, unlikely in a template and never in what stands in it unmarked.
MARK = re.compile("\ue0f0(\\d+)\ue0f1")

# What is made of these spells no control token, and templates compare it ("string", "object").
_PLAIN = re.compile(r"[\w .,;:!?()/-]*")


class Marks:
    """Texts put aside while a template runs; a mark stands for each."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.messages: list[int | None] = []

    def mark(self, text: str, message: int | None = None) -> str:
        """The mark of a text; `message` is the number of the message whose content it is."""
        self.texts.append(text)
        self.messages.append(message)
        return f"\ue0f0{len(self.texts) - 1}\ue0f1"

    def value(self, value: Json) -> Any:
        """The value with marks for all texts in it that could be more than words."""
        if isinstance(value, str):
            return value if _PLAIN.fullmatch(value) else self.mark(value)
        if isinstance(value, list):
            return [self.value(part) for part in value]
        if isinstance(value, dict):
            return {self.value(name): self.value(part) for name, part in value.items()}
        return value

    def json(self, value: Any, **how: Any) -> str:
        """The mark of the JSON text of a value in which marks may stand."""
        written = json.dumps(value, ensure_ascii=False, **how)
        return self.mark(MARK.sub(lambda found: _inside_quotes(self._text(found)), written))

    def _text(self, found: re.Match[str]) -> str:
        return self.texts[int(found.group(1))]


def _inside_quotes(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


@pass_context
def tojson(
    context: Context,
    value: Any,
    indent: int | None = None,
    ensure_ascii: bool = False,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """The filter as chat templates expect it: plain JSON, without the escapes of web pages."""
    how: dict[str, Any] = {"indent": indent, "separators": separators, "sort_keys": sort_keys}
    marks = context.get(MARKS)
    if isinstance(marks, Marks):
        return marks.json(value, **how)
    return json.dumps(value, ensure_ascii=ensure_ascii, **how)


def chat_of(messages: Sequence[Message], marks: Marks) -> list[dict[str, Any]]:
    """The messages as templates take them, with what their tools were called with."""
    names = [call.name for message in messages for call in message.calls]
    turns: list[dict[str, Any]] = []
    n_calls = 0
    for number, message in enumerate(messages):
        # A template asks whether there is a text beside the calls, and a mark is one.
        is_silent = bool(message.calls) and not message.content
        content = "" if is_silent else marks.mark(message.content, number)
        turn: dict[str, Any] = {"role": message.role, "content": content}
        if message.calls:
            turn["tool_calls"] = [
                _call(n_calls + i, call, marks) for i, call in enumerate(message.calls)
            ]
            n_calls += len(message.calls)
        if message.role == "tool":
            turn["tool_call_id"] = _id(message.call)
            turn["name"] = marks.value(names[message.call])
        turns.append(turn)
    return turns


def _call(number: int, call: ToolCall, marks: Marks) -> dict[str, Any]:
    arguments = marks.value(orjson.loads(call.arguments))
    function = {"name": marks.value(call.name), "arguments": arguments}
    return {"id": _id(number), "type": "function", "function": function}


def _id(number: int) -> str:
    """Nine digits: some templates insist on that."""
    return f"{number:09d}"
