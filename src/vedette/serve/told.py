"""One answer as it comes to be told: a text, or calls of tools."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from vedette.tasks.call_grammar import CallGrammar
from vedette.tasks.call_reader import Argued, Called, CallReader
from vedette.tasks.call_reader import Event as CallEvent
from vedette.types import Completion

from .shapes import Object


@dataclass(frozen=True, slots=True)
class Said:
    """More text."""

    text: str


Event: TypeAlias = Said | CallEvent


@dataclass(slots=True)
class MadeCall:
    """A call with the id by which its result comes back."""

    id: str
    name: str
    arguments: str = ""

    @property
    def object(self) -> Object:
        """As chat completions have it."""
        function = {"name": self.name, "arguments": self.arguments}
        return {"id": self.id, "type": "function", "function": function}


class Told:
    """Takes the text of one choice and says what it brings.

    `calls` None: all of it is text. Where calls are only checked at their end, nothing is told
    before.
    """

    def __init__(self, calls: CallGrammar | None) -> None:
        self.text = ""
        self.made: list[MadeCall] = []
        self._calls = calls
        self._reader = CallReader(calls.form.texts) if calls is not None else None
        self._held: list[Event] = []

    def take(self, piece: str) -> list[Event]:
        """What this piece brings."""
        if self._calls is None or self._reader is None:
            self.text += piece
            return [Said(piece)]
        events = self._noted(self._reader.push(piece))
        if self._calls.is_final:
            return events
        self._held += events
        return []

    def end(self) -> list[Event]:
        """What was held back. Raises `ConstraintFailed` for a call that does not fit its tool."""
        if self._calls is not None and self._reader is not None:
            self._reader.finish()
            for call in self.made:
                self._calls.check(call.name, call.arguments)
        return self._held

    def whole(self, completion: Completion) -> None:
        """Take a finished answer. Raises as `end` does."""
        self.take(completion.text)
        self.end()

    def _noted(self, events: Iterable[CallEvent]) -> list[Event]:
        """The events, with what they add up to kept."""
        found: list[Event] = []
        for event in events:
            match event:
                case Called(_, name):
                    self.made.append(MadeCall(f"call_{uuid.uuid4().hex[:24]}", name))
                case Argued(index, text, _):
                    self.made[index].arguments += text
            found.append(event)
        return found
