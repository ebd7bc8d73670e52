"""Asks the lines of a batch, behind live requests; every answer goes to a journal first."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass

from vedette.batch.drive import RETRY_AFTER_S
from vedette.batch.journal import Journal
from vedette.batch.results import is_error

from .batch_lines import AnyLine, BadLine, Line, kept
from .behind import GUEST, Behind, Guest
from .inside import GONE, Inside


@dataclass(slots=True)
class Counts:
    """Lines that are over: answered, and ended in an error."""

    completed: int = 0
    failed: int = 0

    def add(self, body: bytes) -> None:
        """Count a line by what the journal keeps of it."""
        if is_error(body):
            self.failed += 1
        else:
            self.completed += 1


class Work:
    """One pass over the lines of a batch. What the journal has is not asked again."""

    def __init__(
        self,
        lines: Generator[AnyLine, None, None],
        journal: Journal,
        inside: Inside,
        behind: Behind,
    ) -> None:
        self.counts = Counts()
        self.n_asked = 0
        """Lines that this pass has asked and kept the answer of."""
        self._lines = lines
        self._journal = journal
        self._inside = inside
        self._behind = behind
        self._changed = asyncio.Event()
        self._is_stopping = False
        self._gave_way: deque[Line] = deque()
        self._has_more = True
        self._running: dict[asyncio.Task[bytes | None], tuple[Line, Guest]] = {}

    def stop(self) -> None:
        """Ask nothing more, and let go of what is being asked."""
        self._is_stopping = True
        self._changed.set()

    async def run(self) -> None:
        """Until every line has its answer, or `stop`.

        Raises what the journal does, and `OSError` of the file; what was answered stays.
        """
        self._behind.watch(self._changed)
        try:
            while not self._is_stopping:
                self._changed.clear()
                await self._settle()
                await self._begin_more()
                if not (self._running or self._gave_way or self._has_more):
                    return
                await self._changed.wait()
        finally:
            self._behind.unwatch(self._changed)
            for _, guest in self._running.values():
                guest.leave.set()
            await asyncio.gather(*self._running, return_exceptions=True)
            self._lines.close()
            await self._settle()

    async def _begin_more(self) -> None:
        """Ask more lines, as long as there is room."""
        while self._behind.has_room and not self._is_stopping:
            line = await self._next()
            if line is None:
                return
            if not self._behind.has_room:  # it was taken while the line was read
                self._gave_way.appendleft(line)
                return
            guest = self._behind.enter()
            task = asyncio.create_task(self._answer(line, guest))
            self._running[task] = line, guest

    async def _next(self) -> Line | None:
        """The next line that has no answer: first those that gave way to live requests."""
        if self._gave_way:
            return self._gave_way.popleft()
        line = await asyncio.to_thread(self._unanswered) if self._has_more else None
        self._has_more = line is not None
        return line

    def _unanswered(self) -> Line | None:
        for line in self._lines:
            if isinstance(line, BadLine):
                self.counts.failed += 1
            elif line.key in self._journal:
                self.counts.add(self._journal.get(line.key))
            else:
                return line
        return None

    async def _answer(self, line: Line, guest: Guest) -> bytes | None:
        """What the journal is to keep of it; None if it gave way and must be asked again."""
        GUEST.set(guest)
        try:
            for wait_s in (*RETRY_AFTER_S, None):
                reply = await self._inside.post(line.url, line.body, guest.leave)
                if guest.leave.is_set() and reply.status == GONE:
                    return None
                if wait_s is None or not reply.is_worth_trying_again:
                    return kept(reply)
                if await is_set_within(guest.leave, wait_s):
                    return None
            raise AssertionError("the last try returns")
        finally:
            self._behind.part(guest)

    async def _settle(self) -> None:
        """Keep the answers that are there."""
        over = [task for task in self._running if task.done()]
        for task in over:
            line, _ = self._running.pop(task)
            body = task.result()
            if body is None:
                self._gave_way.append(line)
                continue
            # One at a time and in order, as the journal must have it; it waits for the disk.
            await asyncio.to_thread(self._journal.add, line.key, body)
            self.counts.add(body)
            self.n_asked += 1


async def is_set_within(event: asyncio.Event, wait_s: float) -> bool:
    """Wait for the event, but no longer; whether it came."""
    try:
        await asyncio.wait_for(event.wait(), wait_s)
    except TimeoutError:
        return False
    return True
