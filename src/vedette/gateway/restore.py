"""Values put back into an answer, whole or in pieces."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from vedette.redaction.placeholders import restore
from vedette.redaction.stream import Restorer

from .passage import Object

_NO_TEXT = ("role", "id", "type", "name")
"""Strings of a message that are no text of the model's."""


class Restoring:
    """Restores one answer: an object of `chat.completion`, or its chunks in their order.

    What stands within JSON (arguments of tools; the whole text, with `is_json`) has its values
    escaped as JSON has them.
    """

    def __init__(self, mapping: Mapping[str, str], *, is_json: bool) -> None:
        self._plain = mapping
        self._quoted = {
            name: json.dumps(value, ensure_ascii=False)[1:-1] for name, value in mapping.items()
        }
        self._content = self._quoted if is_json else self._plain
        self._restorers: dict[tuple[Any, ...], Restorer] = {}

    def whole(self, answer: Object) -> Object:
        """The answer with its values."""
        choices = [
            {**choice, "message": self._message(choice["message"])} for choice in answer["choices"]
        ]
        return {**answer, "choices": choices}

    def chunk(self, chunk: Object) -> Object:
        """The chunk with what can be said by now; the last one of a choice has all the rest."""
        return {**chunk, "choices": [self._choice(choice) for choice in chunk.get("choices") or ()]}

    def _mapping(self, name: str) -> Mapping[str, str]:
        return self._content if name == "content" else self._plain

    def _message(self, message: Object) -> Object:
        restored = {
            name: restore(value, self._mapping(name))
            if isinstance(value, str) and name not in _NO_TEXT
            else value
            for name, value in message.items()
        }
        if isinstance(calls := message.get("tool_calls"), list):
            restored["tool_calls"] = [self._call(call) for call in calls]
        return restored

    def _call(self, call: Object) -> Object:
        function = call.get("function")
        if not isinstance(function, dict) or not isinstance(function.get("arguments"), str):
            return call
        arguments = restore(function["arguments"], self._quoted)
        return {**call, "function": {**function, "arguments": arguments}}

    def _choice(self, choice: Object) -> Object:
        index = choice.get("index", 0)
        delta = dict(choice.get("delta") or {})
        for name, value in delta.items():
            if isinstance(value, str) and name not in _NO_TEXT:
                delta[name] = self._restorer(self._mapping(name), index, name).feed(value)
        if isinstance(calls := delta.get("tool_calls"), list):
            delta["tool_calls"] = [self._call_piece(index, call) for call in calls]
        if choice.get("finish_reason"):
            self._end(index, delta)
        return {**choice, "delta": delta}

    def _call_piece(self, index: int, call: Object) -> Object:
        function = call.get("function")
        if not isinstance(function, dict) or not isinstance(function.get("arguments"), str):
            return call
        restorer = self._restorer(self._quoted, index, "tool_calls", call.get("index", 0))
        arguments = restorer.feed(function["arguments"])
        return {**call, "function": {**function, "arguments": arguments}}

    def _restorer(self, mapping: Mapping[str, str], *place: Any) -> Restorer:
        if place not in self._restorers:
            self._restorers[place] = Restorer.of(mapping)
        return self._restorers[place]

    def _end(self, index: int, delta: Object) -> None:
        """Put what is still held of this choice into its last delta."""
        for place, restorer in self._restorers.items():
            rest = restorer.end() if place[0] == index else ""
            if not rest:
                continue
            if place[1] != "tool_calls":
                delta[place[1]] = (delta.get(place[1]) or "") + rest
                continue
            more = {"index": place[2], "function": {"arguments": rest}}
            delta["tool_calls"] = [*(delta.get("tool_calls") or ()), more]


def is_json_asked(body: Mapping[str, Any]) -> bool:
    """Whether the text of the answer is JSON."""
    form = body.get("response_format")
    return isinstance(form, Mapping) and form.get("type") in ("json_object", "json_schema")
