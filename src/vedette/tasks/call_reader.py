"""An answer that calls tools, followed piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from vedette.engine.call_form import CallTexts
from vedette.errors import ConstraintFailed


@dataclass(frozen=True, slots=True)
class Called:
    """The call of this number begins."""

    index: int
    name: str


@dataclass(frozen=True, slots=True)
class Argued:
    """More of the JSON text of a call's arguments; `is_whole` with the last of it."""

    index: int
    text: str
    is_whole: bool


Event: TypeAlias = Called | Argued


class CallReader:
    """Reads what a grammar of calls lets through."""

    def __init__(self, texts: CallTexts) -> None:
        self._texts = texts
        self._rest = ""
        self._n_calls = 0
        self._place = self._opening
        self._json = _ObjectEnd()

    def push(self, piece: str) -> Iterator[Event]:
        """What this piece brings."""
        self._rest += piece
        while (event := self._place()) is not None:
            yield from event

    def finish(self) -> None:
        """The answer is over. Raises `ConstraintFailed` where a call breaks off."""
        if self._place != self._behind:
            raise ConstraintFailed("the answer breaks off within a call")

    def _opening(self) -> list[Event] | None:
        if not self._rest.startswith(self._texts.opening):
            return None
        self._rest, self._place = self._rest.removeprefix(self._texts.opening), self._naming
        return []

    def _naming(self) -> list[Event] | None:
        name, found, rest = self._rest.partition(self._texts.middle)
        if not found:
            return None
        self._rest, self._place, self._json = rest, self._arguing, _ObjectEnd()
        self._n_calls += 1
        return [Called(self._n_calls - 1, name)]

    def _arguing(self) -> list[Event] | None:
        if not self._rest:
            return None
        end = self._json.find(self._rest)
        if end is not None:
            self._place = self._behind
        text, self._rest = self._rest[:end], self._rest[len(self._rest) if end is None else end :]
        return [Argued(self._n_calls - 1, text, end is not None)]

    def _behind(self) -> list[Event] | None:
        """Behind a call another one can begin; the end needs no reading."""
        between = self._texts.between
        if between is None or not self._rest.startswith(between):
            return None
        self._rest, self._place = self._rest.removeprefix(between), self._naming
        return []


class _ObjectEnd:
    """Looks for the end of a JSON object whose text comes in pieces."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._is_escaped = False

    def find(self, piece: str) -> int | None:
        """The place behind the object's last brace, if it is in this piece."""
        for at, letter in enumerate(piece):
            if self._in_string:
                if self._is_escaped:
                    self._is_escaped = False
                elif letter == "\\":
                    self._is_escaped = True
                elif letter == '"':
                    self._in_string = False
            elif letter == '"':
                self._in_string = True
            elif letter in "{[":
                self._depth += 1
            elif letter in "}]":
                self._depth -= 1
                if self._depth == 0:
                    return at + 1
        return None
