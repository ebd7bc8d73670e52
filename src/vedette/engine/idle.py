"""How many cells chats that are over may hold, in case they go on."""

from __future__ import annotations

LEAST_CELLS = 256
"""llama.cpp attends over a multiple of so many cells, so fewer save nothing."""
SHRINKS_TO = 0.75


class IdleLimit:
    """All that there are while chats go on; fewer with each one that was kept in vain.

    Every token that is computed attends over the idle cells too: 2,048 of them cost a chat of 70
    tokens under smollm2-135m 13% of its processor time. As in ARC (Megiddo and Modha, FAST 2003)
    what comes back after it was let go shows that the limit was too low.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.cells = most

    def gone_on(self) -> None:
        """A chat went on, whether or not it was still there."""
        self.cells = self._most

    def in_vain(self) -> None:
        """A chat that was kept has not gone on so far, and is let go."""
        self.cells = min(self._most, max(LEAST_CELLS, int(self.cells * SHRINKS_TO)))
