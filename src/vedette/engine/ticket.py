"""The handle of a request: filled by the engine's thread, read from any other."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

from vedette.errors import Cancelled
from vedette.types import Completion, Embedding, Scores, TokenLogprob

R = TypeVar("R", bound=Completion | Scores | Embedding)

_log = logging.getLogger(__name__)


def _call(callback: Callable[[], None]) -> None:
    """A callback's fault is its owner's: it is logged, and the engine's thread goes on."""
    try:
        callback()
    except Exception:
        _log.exception("a callback of a finished request failed")


class Ticket(Generic[R]):
    """Implements `backends.base.Handle`, and `TellsLogprobs` where they are asked for."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._pieces: deque[str] = deque()
        self._result: R | None = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[], None]] = []
        self._done = False
        self.cancelled = False
        self.logprobs: Sequence[TokenLogprob] = ()

    def push(self, text: str) -> None:
        """Engine side: more text is decided."""
        if text:
            with self._changed:
                self._pieces.append(text)
                self._changed.notify_all()

    def settle(self, result: R | None, error: BaseException | None = None) -> None:
        """Engine side: the end, once."""
        with self._changed:
            if self._done:
                return
            self._result, self._error, self._done = result, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for callback in callbacks:
            _call(callback)

    def cancel(self) -> None:
        """Ask for the end; takes effect within one step."""
        self.cancelled = True

    def on_done(self, callback: Callable[[], None]) -> None:
        """Call back once when `result` will not block."""
        with self._changed:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback()

    def result(self, timeout_s: float | None = None) -> R:
        """Wait for the answer; raises the request's typed error, or TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._done, timeout_s):
                raise TimeoutError(f"no answer within {timeout_s} s; the request is still running")
        return self._outcome()

    def _outcome(self) -> R:
        if self._error is not None:
            raise self._error
        if self._result is None:
            raise Cancelled("the request was cancelled")
        return self._result

    def __iter__(self) -> Iterator[str]:
        """Text as it is decided."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._pieces or self._done)
                piece = self._pieces.popleft() if self._pieces else None
            if piece is not None:
                yield piece
            else:
                self._outcome()
                return

    def __await__(self) -> Generator[Any, None, R]:
        """Await from asyncio; cancelling the task cancels the request."""
        return self._wait().__await__()

    async def _wait(self) -> R:
        loop = asyncio.get_running_loop()
        done = asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop has been closed: nobody waits any more
                loop.call_soon_threadsafe(done.set)

        self.on_done(wake)
        try:
            await done.wait()
        except asyncio.CancelledError:
            self.cancel()
            raise
        return self._outcome()
