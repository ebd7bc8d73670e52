"""One answer in which tools may be called, as it comes to be told."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from vedette.tasks.call_grammar import CallGrammar
from vedette.tasks.call_reader import Argued, Called, CallReader, Event, Said
from vedette.types import Completion

from .shapes import Object


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
    """Takes the text of one choice and says what it brings: text, and calls.

    `calls` None: all of it is text. Where calls are only checked at their end, nothing is told
    before.
    """

    def __init__(self, calls: CallGrammar | None) -> None:
        self.text = ""
        self.made: list[MadeCall] = []
        self._calls = calls
        self._reader = CallReader(calls.form.texts) if calls is not None else None
        self._held: list[Event] | None = None if calls is None or calls.is_final else []

    def take(self, piece: str) -> list[Event]:
        """What this piece brings."""
        if self._reader is None:
            return self._noted([Said(piece)])
        return self._noted(self._reader.push(piece))

    def end(self) -> list[Event]:
        """What the end brings. Raises `ConstraintFailed` for a call that does not fit its tool."""
        held, self._held = self._held, None
        last = self._noted(self._reader.finish()) if self._reader is not None else []
        if self._calls is not None and held is not None:
            for call in self.made:
                self._calls.check(call.name, call.arguments)
        return [*(held or ()), *last]

    def whole(self, completion: Completion) -> None:
        """Take a finished answer. Raises as `end` does."""
        self.take(completion.text)
        self.end()

    def _noted(self, events: Iterable[Event]) -> list[Event]:
        """The events, unless they are held, with what they add up to kept."""
        found = list(self._kept(events))
        if self._held is not None:
            self._held += found
            return []
        return found

    def _kept(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            match event:
                case Said(text):
                    self.text += text
                case Called(_, name):
                    self.made.append(MadeCall(f"call_{uuid.uuid4().hex[:24]}", name))
                case Argued(index, text, _):
                    self.made[index].arguments += text
            yield event
