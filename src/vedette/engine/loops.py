"""Notices that an answer goes round in circles."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vedette.types import Prompt

LONGEST_PERIOD = 32
LEAST_REPEATS = 6
LEAST_TOKENS = 48
"""A loop is at least that often the same, and at least that long in all."""


class LoopDetector:
    """Looks at the tokens of an answer as they come.

    What stands in the prompt as often in a row is no loop: the answer may be copying it.
    """

    def __init__(self, prompt: Prompt) -> None:
        self._prompt = prompt
        self._seen = 0

    def finds(self, tokens: Sequence[int], text: Callable[[], str]) -> bool:
        """Whether the answer so far ends in a loop that was not told yet.

        `text` gives the answer's text up to here.
        """
        fresh = tokens[self._seen :]
        n = repeated_tail(fresh)
        if n == 0:
            return False
        tail = text()[-n:]  # a token is a character at least, nearly always
        known = self._prompt.raw or ""
        if tail in known or any(tail in message.content for message in self._prompt.messages):
            return False
        self._seen = len(tokens)
        return True


def repeated_tail(tokens: Sequence[int]) -> int:
    """How many of the last tokens are one stretch over and over; 0 if that is no loop."""
    for period in range(1, LONGEST_PERIOD + 1):
        need = max(LEAST_TOKENS, period * LEAST_REPEATS)
        if need > len(tokens):
            if period * LEAST_REPEATS > len(tokens):
                return 0
            continue
        tail = tokens[len(tokens) - need :]
        if tail[-1] == tail[-1 - period] and tail[period:] == tail[:-period]:
            return need
    return 0
