"""How many requests a server is given at once: as many as it answers well."""

from __future__ import annotations

import asyncio
from collections import deque

START = 4
SLOW_FACTOR = 4.0
"""An answer may cost this many times what it cost when least was under way."""

_CUT = 0.5
_FORGET = 1.02  # per window: what an answer costs at best is forgotten slowly


class AdaptiveLimit:
    """Additive increase, multiplicative decrease (Chiu and Jain 1989), as TCP does it.

    The limit grows by one when as many requests as it allows were answered, and is halved when
    the server has too much to do: it says so, or its answers cost `slow_factor` times the seconds
    for each token that they cost at best (None: that is not looked at). Each change is judged by
    requests that were begun after it. It knows no clock. It begins at `start` and stays from 1
    to `most`.
    """

    def __init__(
        self, most: int, *, start: int = START, slow_factor: float | None = SLOW_FACTOR
    ) -> None:
        self.most = most
        self.value = min(start, most)
        self.cuts = 0
        self._slow_factor = slow_factor
        self._epoch = 0
        self._costs: list[float] = []
        self._best: float | None = None

    def bound(self, most: int) -> None:
        """Allow no more than this from now on."""
        self.most = most
        self.value = min(self.value, most)

    def begin(self) -> int:
        """A request begins; what is returned goes to `answered` or `refused`."""
        return self._epoch

    def answered(self, begun: int, seconds: float, n_tokens: int) -> None:
        """It was answered, with so many tokens."""
        if begun != self._epoch:
            return
        self._costs.append(seconds / max(1, n_tokens))
        if len(self._costs) < self.value:
            return
        cost = sum(self._costs) / len(self._costs)
        self._costs.clear()
        best = self._best = cost if self._best is None else min(cost, self._best * _FORGET)
        if self._slow_factor is not None and cost > self._slow_factor * best:
            self._cut()
        elif self.value < self.most:
            self.value += 1
            self._epoch += 1

    def refused(self, begun: int) -> None:
        """The server had too much to do."""
        if begun == self._epoch:
            self._cut()

    def _cut(self) -> None:
        self.value = max(1, int(self.value * _CUT))
        self.cuts += 1
        self._epoch += 1
        self._costs.clear()


class Gate:
    """Lets in as many as its limit says, first come, first served. Belongs to one event loop."""

    def __init__(self, limit: AdaptiveLimit) -> None:
        self.limit = limit
        self.inside = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        """Wait for a place and take it."""
        if not self._waiting and self.inside < self.limit.value:
            self.inside += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()  # the place came together with the cancellation
            elif turn in self._waiting:  # else `leave` has passed it over already
                self._waiting.remove(turn)
            raise

    def leave(self) -> None:
        """Give the place back; who waits longest goes in."""
        self.inside -= 1
        while self._waiting and self.inside < self.limit.value:
            turn = self._waiting.popleft()
            if not turn.done():
                self.inside += 1
                turn.set_result(None)
