"""Guesses that cost nothing to have, held against what is written, made or not."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from vedette.engine.prefix import n_common

from .acceptance import POSITIONS, Acceptance

RECENT = 0.75
"""What was known of an answer weighs so much after each further token: about four count."""


@dataclass(frozen=True, slots=True)
class _Noted:
    """`tokens` were to stand from `at` on."""

    at: int
    tokens: list[int]
    acceptance: Acceptance


@dataclass(slots=True)
class Shadow:
    """What would have been guessed at the last places of one answer.

    `hit_rate` is the share of what was written last that was, or would have been, guessed.
    """

    hit_rate: float = 0.0
    _n_written: int = 0
    _last: list[int] = field(default_factory=list)
    _noted: deque[_Noted] = field(default_factory=deque)

    def note(self, at: int, tokens: list[int], acceptance: Acceptance) -> None:
        """Remember a guess; positions behind `POSITIONS` are counted with the last of these."""
        self._last = tokens
        self._noted.append(_Noted(at, tokens[:POSITIONS], acceptance))

    def check(self, written: list[int]) -> None:
        """Count all guesses of which it is known by now how far they are right."""
        self._count_hits(written)
        waiting: deque[_Noted] = deque()
        for noted in self._noted:
            new = written[noted.at : noted.at + len(noted.tokens)]
            n_right = n_common(new, noted.tokens)
            if n_right < len(new) or n_right == len(noted.tokens):
                noted.acceptance.add(len(noted.tokens), n_right)
            elif len(written) >= noted.at:  # else the answer was taken back to before it
                waiting.append(noted)
        self._noted = waiting

    def _count_hits(self, written: list[int]) -> None:
        """Take what came since the last look, of which `_last` was the guess, into the rate."""
        new = written[self._n_written :] if self._n_written else []
        n_hits = n_common(new, self._last)
        for i in range(len(new)):
            self.hit_rate = RECENT * self.hit_rate + (1 - RECENT) * (i < n_hits)
        self._n_written, self._last = len(written), []
