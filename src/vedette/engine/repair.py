"""Where to take up an answer again that its schema refuses: at the failing value."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import accumulate

from vedette.engine.constraint.json_schema import Fault

MOST_REPAIRS = 4

_decoder = json.JSONDecoder()


class Repair:
    """Chooses the token to write differently, and remembers what was tried there."""

    def __init__(self) -> None:
        self.n_done = 0
        self._banned: dict[int, set[int]] = {}

    def token_to_change(
        self, fault: Fault, text: str, pieces: Sequence[bytes], sampled: Sequence[int]
    ) -> int | None:
        """Index of the answer's token at which to go on, None if nothing can be done.

        The first choice that the model had within the failing value; where that holds a whole
        object or list, its last one. `sampled` are the indices of the tokens that were chosen.
        """
        if self.n_done >= MOST_REPAIRS:
            return None
        try:
            start, end = _bytes(text, fault.span) if fault.span else span_of(text, fault.path)
        except (ValueError, IndexError, KeyError):
            return None
        ends = list(accumulate(map(len, pieces)))
        begins = [0, *ends]
        inside = [i for i in sampled if ends[i] > start and begins[i] < end]
        if not inside:
            return None
        return inside[-1] if fault.is_container else inside[0]

    def ban(self, index: int, token: int) -> None:
        """Do not write this token here again; later places are open anew."""
        self.n_done += 1
        self._banned = {at: tokens for at, tokens in self._banned.items() if at <= index}
        self._banned.setdefault(index, set()).add(token)

    def banned_at(self, index: int) -> set[int]:
        """What was tried at this place."""
        return self._banned.get(index, set())


def span_of(text: str, path: Sequence[str | int]) -> tuple[int, int]:
    """Where a value stands in an answer that is JSON, in bytes.

    Raises `ValueError`, `IndexError` or `KeyError` if it does not.
    """
    at = 0
    for step in path:
        at = _member(text, at, step) if isinstance(step, str) else _element(text, at, step)
    return _bytes(text, (at, _decoder.raw_decode(text, at)[1]))


def _bytes(text: str, characters: tuple[int, int]) -> tuple[int, int]:
    start, end = characters
    return len(text[:start].encode()), len(text[:end].encode())


def _member(text: str, at: int, name: str) -> int:
    while text[at] in "{,":
        key, end = _decoder.raw_decode(text, _behind(text, at))
        at = _behind(text, end)  # the colon
        if key == name:
            return at
        at = _decoder.raw_decode(text, at)[1]
    raise KeyError(name)


def _element(text: str, at: int, index: int) -> int:
    for _ in range(index):
        at = _decoder.raw_decode(text, _behind(text, at))[1]
        if text[at] != ",":
            raise IndexError(index)
    return _behind(text, at)


def _behind(text: str, at: int) -> int:
    """The place behind the character at `at` and the spaces after it."""
    at += 1
    while text[at] == " ":
        at += 1
    return at
