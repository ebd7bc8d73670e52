"""Prompts that were in the cache of late, as token ids only."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from itertools import count

from .prefix import PrefixTree

N_PROMPTS = 32


@dataclass(frozen=True, slots=True)
class Common:
    """With how many tokens a prompt begins as a past one did, and whether it is its chat's next."""

    n_tokens: int = 0
    goes_on: bool = False


class Past:
    """The last `N_PROMPTS` prompts that were let go.

    One that comes and begins as one of them did shows that its beginning is worth keeping this
    time. That costs no cell, so where prompts have nothing in common it costs nothing.
    """

    def __init__(self) -> None:
        self._tree = PrefixTree()
        self._numbers = count()
        self._held: deque[int] = deque()
        self._asked_with: dict[int, int] = {}

    def add(self, tokens: list[int], space: Hashable, n_prompt: int = 0) -> None:
        """Remember a prompt, or a chat that was asked with `n_prompt`, and forget the oldest."""
        if len(self._held) == N_PROMPTS:
            oldest = self._held.popleft()
            self._tree.remove(oldest)
            del self._asked_with[oldest]
        number = next(self._numbers)
        self._tree.insert(number, tokens, space)
        self._held.append(number)
        self._asked_with[number] = n_prompt

    def common(self, tokens: list[int], space: Hashable) -> Common:
        """How these tokens begin as one of them did, in the same space."""
        match = self._tree.longest(tokens, space)
        if match is None:
            return Common()
        n_prompt = self._asked_with[match.owner]
        return Common(match.n_tokens, 0 < n_prompt <= match.n_tokens)
