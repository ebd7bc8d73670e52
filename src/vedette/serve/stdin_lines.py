"""The lines of stdin, for a loop that can be ended while none comes."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Self

STDIN = 0


class StdinLines:
    """An iterator over the lines that a thread of its own reads, one ahead.

    The SDK's own reader waits for a line in a thread that must end before the loop can: at a
    terminal Ctrl-C then did nothing. Nobody waits for this one.
    """

    def __init__(self, fd: int = STDIN) -> None:
        self._lines: asyncio.Queue[str | None] = asyncio.Queue(maxsize=1)
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(fd, loop), daemon=True).start()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        line = await self._lines.get()
        if line is None:
            raise StopAsyncIteration
        return line

    def _read(self, fd: int, loop: asyncio.AbstractEventLoop) -> None:
        def put(line: str | None) -> None:
            asyncio.run_coroutine_threadsafe(self._lines.put(line), loop).result()

        # A file of its own: the interpreter waits for the lock of sys.stdin at its end. An error is
        # a terminal that has gone away, which is an end too.
        with (
            contextlib.suppress(OSError),
            open(fd, encoding="utf-8", errors="replace", closefd=False) as file,
        ):
            for line in file:
                put(line)
        put(None)
