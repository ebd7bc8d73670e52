"""Whose turn it is, where live sequences are computed under different adapters.

A step is one `llama_decode`, and adapters belong to the context: all of a step's tokens are
computed under the same ones. So sequences of one set of adapters make a group, and the groups take
turns. A change of adapters has llama.cpp plan its computations anew: 7 ms of processor time with
135M and with 0.5B weights. So a turn lasts for several steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from collections.abc import Sequence as Sequences

from .llama.adapter import AdapterSet
from .sequence import Sequence

TURN_S = 0.15
"""A turn lasts so long while others wait: the change before it is then a small part of it."""


class Turns:
    """Chooses the group of each step. Groups wait in a queue, so none can be passed over.

    A turn ends when it has lasted `turn_s` and another group waits, or when the group has nothing
    to compute.
    """

    def __init__(self, turn_s: float = TURN_S, clock: Callable[[], float] = time.monotonic) -> None:
        self._turn_s = turn_s
        self._clock = clock
        self._queue: list[AdapterSet] = []  # the first has the turn
        self._began = 0.0

    def group(self, live: Sequences[Sequence]) -> list[Sequence]:
        """The sequences that the next step may be made of: all of one set of adapters."""
        wanted = dict.fromkeys(each.adapters for each in live if each.n_pending)
        if not wanted:
            return []
        before = self._queue[:1]
        self._queue = [each for each in self._queue if each in wanted]
        self._queue += [each for each in wanted if each not in self._queue]
        is_over = self._clock() - self._began >= self._turn_s
        if self._queue[:1] == before and len(self._queue) > 1 and is_over:
            self._queue.append(self._queue.pop(0))
        if self._queue[:1] != before:
            self._began = self._clock()
        return [each for each in live if each.adapters == self._queue[0]]
