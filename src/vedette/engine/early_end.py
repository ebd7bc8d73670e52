"""What a constrained answer is made to write so that it ends in time, or at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vedette.types import Cut, Request

from .constraint.matcher import Matcher
from .loops import LoopDetector
from .steering import Steering

MOST_LOOPS = 3
"""So many loops are ended one by one; with another one the whole answer ends."""


@dataclass(frozen=True, slots=True)
class Way:
    """Tokens to be written in place of what the model would write, and why.

    `is_whole`: they make the answer legal and end it; else it goes on behind them.
    """

    tokens: tuple[int, ...]
    cut: Cut
    is_whole: bool


class EarlyEnd:
    """Watches a constrained answer for its budget and for what it repeats over and over.

    Raises `BudgetTooSmall` where no answer can be as short as `max_tokens`.
    """

    def __init__(self, matcher: Matcher, request: Request) -> None:
        self._matcher = matcher
        self._most_tokens = request.max_tokens
        self._steering = Steering(matcher, request.max_tokens)
        self._loops = LoopDetector(request.prompt)
        self._n_broken = 0

    def of_loop(
        self,
        answer: list[int],
        text: Callable[[], str],
        row: NDArray[np.float32],
        mask: NDArray[np.int32],
    ) -> Way | None:
        """The end of what is repeated: of the string or list, else of the whole answer."""
        if not self._loops.finds(answer, text):
            return None
        closing = self._matcher.closing(mask)
        if not closing.size and self._matcher.report is not None:
            return None  # the schema wants more of it
        if closing.size and self._n_broken < MOST_LOOPS:
            self._n_broken += 1
            return Way((int(closing[row[closing].argmax()]),), "loop", is_whole=False)
        way = self._matcher.ending(self._most_tokens - len(answer))
        return None if way is None else Way(way, "loop", is_whole=True)

    def of_budget(self, token: int, n_left: int) -> Way | None:
        """The shortest end, if the token would leave no room for one."""
        way = self._steering.ending_instead_of(token, n_left)
        return None if way is None else Way(way, "budget", is_whole=True)

    def took_forced(self, n_tokens: int) -> None:
        """So many tokens were written that nobody chose."""
        self._steering.took_forced(n_tokens)

    def restart(self) -> None:
        """The answer was taken back."""
        self._steering.restart()
