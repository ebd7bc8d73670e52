"""An asyncio loop on a thread of its own: remote answers are awaited there, asked for anywhere."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeAlias, TypeVar

from vedette.engine.ticket import Ticket
from vedette.errors import Cancelled, DeadlineExceeded, EngineFailed, VedetteError
from vedette.types import Completion, Embedding, Scores

T = TypeVar("T")
R = TypeVar("R", bound=Completion | Scores | Embedding)
Push: TypeAlias = Callable[[str], None]

CLOSE_TIMEOUT_S = 10


class RemoteTicket(Ticket[R]):
    """A ticket whose `cancel` ends the request at once, and with it the connection."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._loop = loop
        self.task: asyncio.Task[None] | None = None

    def cancel(self) -> None:
        """See `Handle.cancel`."""
        super().cancel()
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._cancel_task)

    def _cancel_task(self) -> None:
        if self.task is not None:
            self.task.cancel()


class Background:
    """Runs coroutines. All methods may be called from any thread but its own."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Run it to its end. Raises `EngineFailed` when this is closed."""
        with self._lock:
            if self._closed:
                work.close()
                raise EngineFailed("the backend is closed")
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def start(
        self, work: Callable[[Push], Coroutine[Any, Any, R]], deadline_s: float | None
    ) -> RemoteTicket[R]:
        """Begin it and return its ticket. `work` is given what passes text on to the ticket.

        Raises `EngineFailed` when this is closed.
        """
        ticket: RemoteTicket[R] = RemoteTicket(self._loop)
        with self._lock:
            if self._closed:
                raise EngineFailed("the backend is closed")
            self._loop.call_soon_threadsafe(self._begin, ticket, work, deadline_s)
        return ticket

    def _begin(
        self,
        ticket: RemoteTicket[R],
        work: Callable[[Push], Coroutine[Any, Any, R]],
        deadline_s: float | None,
    ) -> None:
        task = self._loop.create_task(_settle(ticket, work, deadline_s))
        ticket.task = task
        self._tasks.add(task)
        task.add_done_callback(partial(self._ended, ticket))

    def _ended(self, ticket: RemoteTicket[R], task: asyncio.Task[None]) -> None:
        """A task that is cancelled, perhaps before it began, has not settled its ticket."""
        self._tasks.discard(task)
        ticket.settle(None, Cancelled("the request was cancelled"))

    def close(self, last: Coroutine[Any, Any, None]) -> None:
        """Cancel what is under way, run `last`, and end the thread. Safe to call again."""
        with self._lock:
            if self._closed:
                last.close()
                return
            self._closed = True
            future = asyncio.run_coroutine_threadsafe(self._end(last), self._loop)
        try:
            future.result(CLOSE_TIMEOUT_S)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(CLOSE_TIMEOUT_S)
            if not self._loop.is_running():
                self._loop.close()

    async def _end(self, last: Coroutine[Any, Any, None]) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await last
        await self._loop.shutdown_asyncgens()


async def _settle(
    ticket: RemoteTicket[R],
    work: Callable[[Push], Coroutine[Any, Any, R]],
    deadline_s: float | None,
) -> None:
    """Run one request and put its end, whatever it is, into the ticket."""
    try:
        async with asyncio.timeout(deadline_s):
            result = await work(ticket.push)
    except TimeoutError:
        ticket.settle(None, DeadlineExceeded(f"no answer within {deadline_s:g} s"))
    except VedetteError as error:
        ticket.settle(None, error)
    except Exception as error:  # a bug: it belongs to whoever waits for the answer
        ticket.settle(None, error)
    else:
        ticket.settle(result)
