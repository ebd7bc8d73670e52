"""Requests on their way through the backend: let in, awaited, and let go of."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TypeAlias, TypeVar, cast

from fastapi import Request as HttpRequest

from vedette.backends.base import Backend, Handle, Result
from vedette.errors import Cancelled, InputError, Overloaded
from vedette.types import AnyRequest, Completion

from .behind import GUEST, Behind

T = TypeVar("T")
R = TypeVar("R", bound=Result)

PAUSE_S = 15.0
"""Silence after which a stream says that it still lives."""

Event: TypeAlias = tuple[int, str | Completion | BaseException]


class Desk:
    """Takes requests to a backend, so many at once; more are refused. Of one event loop.

    `watch` is shown every request that is under way.
    """

    def __init__(
        self, backend: Backend, most: int, *, watch: Callable[[Handle[Result]], None]
    ) -> None:
        self._backend = backend
        self._most = most
        self._watch = watch
        self.n_under_way = 0
        self.behind = Behind.of(backend)
        """Who asks for batches, while these places are free."""

    @contextmanager
    def _places(self, n: int) -> Iterator[None]:
        if n > self._most:
            raise InputError(
                f"{n} answers are asked for at once, and this server gives at most {self._most}"
            )
        guest = GUEST.get()
        if guest is not None:  # it takes no place of those for live requests
            guest.n = n
            yield
            return
        if self.n_under_way + n > self._most:
            raise Overloaded(
                f"{self.n_under_way} answers are under way, {n} more are asked for, and at most "
                f"{self._most} can be",
                hint="try again later",
            )
        self.n_under_way += n
        self.behind.live(n)
        try:
            yield
        finally:
            self.n_under_way -= n
            self.behind.live(-n)

    @asynccontextmanager
    async def under_way(
        self, requests: Sequence[AnyRequest]
    ) -> AsyncIterator[list[Handle[Result]]]:
        """Their handles; what has no answer when the block is left is cancelled.

        Raises `InputError` for more than there are places for, `Overloaded` where these are taken,
        and what `Backend.submit` raises: then none is under way.
        """
        with self._places(len(requests)):
            async with self._submitted(requests) as handles:
                yield handles

    @asynccontextmanager
    async def _submitted(
        self, requests: Sequence[AnyRequest]
    ) -> AsyncIterator[list[Handle[Result]]]:
        handles: list[Handle[Result]] = []
        # The overloads of `submit` take one kind of request each, and this is any.
        submit = cast(Callable[[AnyRequest], Handle[Result]], self._backend.submit)
        try:
            for request in requests:  # compiling a grammar takes time: not on the event loop
                handles.append(await asyncio.to_thread(submit, request))
                self._watch(handles[-1])
            yield handles
        finally:
            for handle in handles:
                handle.cancel()

    async def answers(
        self, http: HttpRequest, requests: Sequence[AnyRequest], kind: type[R]
    ) -> list[R]:
        """All answers, in order; of many requests, so many at once as the backend is wide.

        Raises what one of them raises, `Overloaded`, and `Cancelled` if the client left.
        """
        n_at_once = min(len(requests), self._backend.width, self._most)
        results: list[Result] = []
        with self._places(n_at_once):
            for at in range(0, len(requests), n_at_once):
                async with self._submitted(requests[at : at + n_at_once]) as handles:
                    results += await while_there(http, _all(handles))
        return [result for result in results if isinstance(result, kind)]

    async def errand(self, http: HttpRequest | None, n: int, work: Callable[[], Awaitable[T]]) -> T:
        """What `work` gives, which goes to the backend itself and takes `n` places meanwhile.

        Raises what it raises, what is said of `under_way`, and `Cancelled` if the client left
        (None: there is no connection to leave; who calls is cancelled).
        """
        with self._places(n):
            return await (work() if http is None else while_there(http, work()))


async def _all(handles: Sequence[Handle[Result]]) -> list[Result]:
    return [await handle for handle in handles]


async def left(http: HttpRequest) -> None:
    """Returns when the client has gone."""
    while (await http.receive())["type"] != "http.disconnect":
        pass


async def while_there(http: HttpRequest, work: Awaitable[T]) -> T:
    """What `work` gives. Raises `Cancelled` if the client leaves before."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(left(http))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise Cancelled("the client went away")
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def events(
    http: HttpRequest, handles: Sequence[Handle[Result]]
) -> AsyncIterator[tuple[int, str | Completion] | None]:
    """Pieces of text as they are decided and each completion at its end, with the handle's index.

    None after `PAUSE_S` of silence. Raises what an answer raises, and `Cancelled` if the client
    leaves.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[Event] = asyncio.Queue()

    def put(event: Event) -> None:
        with suppress(RuntimeError):  # the loop has been closed: nobody waits any more
            loop.call_soon_threadsafe(queue.put_nowait, event)

    # Iterating a handle blocks, so each has a thread, which ends with it.
    for index, handle in enumerate(handles):
        threading.Thread(target=_pump, args=(index, handle, put), daemon=True).start()
    leaving = asyncio.ensure_future(left(http))
    leaving.add_done_callback(lambda _: queue.put_nowait((0, Cancelled("the client went away"))))
    n_open = len(handles)
    try:
        while n_open:
            try:
                index, event = await asyncio.wait_for(queue.get(), PAUSE_S)
            except TimeoutError:
                yield None
                continue
            if isinstance(event, BaseException):
                raise event
            n_open -= isinstance(event, Completion)
            yield index, event
    finally:
        leaving.cancel()


def _pump(index: int, handle: Handle[Result], put: Callable[[Event], None]) -> None:
    """Everything that comes out of one handle."""
    try:
        for piece in handle:
            put((index, piece))
        put((index, cast(Completion, handle.result())))
    except BaseException as error:  # it belongs to who reads the stream
        put((index, error))
