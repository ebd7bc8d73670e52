"""Prompts that were in the cache of late, as token ids only."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from itertools import count

from .prefix import PrefixTree

N_PROMPTS = 32


class Past:
    """The last `N_PROMPTS` prompts that were let go.

    One that comes and begins as one of them did shows that its beginning is worth keeping this
    time. That costs no cell, so where prompts have nothing in common it costs nothing.
    """

    def __init__(self) -> None:
        self._tree = PrefixTree()
        self._numbers = count()
        self._held: deque[int] = deque()

    def add(self, tokens: list[int], space: Hashable) -> None:
        """Remember a prompt, and forget the oldest."""
        if len(self._held) == N_PROMPTS:
            self._tree.remove(self._held.popleft())
        number = next(self._numbers)
        self._tree.insert(number, tokens, space)
        self._held.append(number)

    def n_common(self, tokens: list[int], space: Hashable) -> int:
        """With how many leading tokens of these one of them began, in the same space."""
        match = self._tree.longest(tokens, space)
        return match.n_tokens if match else 0
