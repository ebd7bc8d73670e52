"""The text of an answer as its tokens come in."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .stops import StopScanner
from .tokens import Detokenizer


class AnswerText:
    """Joins pieces to characters, cuts at stop strings, and passes text on.

    With `hold`, nothing is passed on before `release`: what may still be rewritten is not shown.
    """

    def __init__(
        self, stops: tuple[str, ...], push: Callable[[str], None], *, hold: bool = False
    ) -> None:
        self._stop_texts = stops
        self._push = push
        self._hold = hold
        self._begin()

    def _begin(self) -> None:
        self._characters = Detokenizer()
        self._stops = StopScanner(self._stop_texts)
        self._parts: list[str] = []

    @property
    def whole(self) -> str:
        """All of it, up to the stop string."""
        return "".join(self._parts)

    @property
    def is_stopped(self) -> bool:
        """Whether a stop string has come."""
        return self._stops.hit

    def add(self, piece: bytes) -> None:
        """Take the bytes of a token."""
        self._pass_on(self._stops.push(self._characters.push(piece)))

    def finish(self) -> None:
        """Nothing more comes: what was held back for a stop string or a character is text."""
        if not self._stops.hit:
            self._pass_on(self._stops.push(self._characters.finish()) + self._stops.finish())

    def restart(self, pieces: Iterable[bytes]) -> None:
        """Begin anew with these pieces. Only while nothing was passed on."""
        self._begin()
        for piece in pieces:
            self.add(piece)

    def release(self) -> None:
        """Pass on what was held."""
        if self._hold:
            self._hold = False
            self._push(self.whole)

    def _pass_on(self, text: str) -> None:
        if text:
            self._parts.append(text)
            if not self._hold:
                self._push(text)
