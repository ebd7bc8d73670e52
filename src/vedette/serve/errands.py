"""Tasks over a request's items: on threads of their own, with places at the desk, and an end."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace

from fastapi import Request as HttpRequest

from vedette.backends.around import Around
from vedette.backends.base import Backend, Handle, Result
from vedette.batch.answers import answers
from vedette.batch.results import Outcome
from vedette.errors import Cancelled, DeadlineExceeded
from vedette.tasks.base import Task
from vedette.types import AdapterScales, AnyRequest, Item

from .adapters import MOST_BACKENDS
from .facts import Facts
from .verbs.together import Together


class Leash:
    """What one errand has at the backend: so many requests at once, until a time, or its end.

    `submit` belongs to the errand's thread, which it lets wait for a free place; `let_go` may be
    called from any.
    """

    def __init__(self, n_places: int, deadline_s: float | None) -> None:
        self._free = threading.Semaphore(n_places)
        self._lock = threading.Lock()
        self._handles: set[Handle[Result]] = set()
        self._is_over = False
        self._deadline_s = deadline_s
        self._began_s = time.monotonic()

    @property
    def is_over(self) -> bool:
        """Whether nobody waits for the answers any more."""
        return self._is_over

    def submit(
        self, submit: Callable[[AnyRequest], Handle[Result]], request: AnyRequest
    ) -> Handle[Result]:
        """Ask for it in what time is left. Raises `Cancelled`, `DeadlineExceeded`, what it does."""
        self._free.acquire()  # a place always comes: what holds one ends, or is cancelled
        try:
            handle = submit(self._in_time(request))
        except BaseException:
            self._free.release()
            raise
        with self._lock:
            self._handles.add(handle)
            is_late = self._is_over
        handle.on_done(lambda: self._done(handle))
        if is_late:
            handle.cancel()
        return handle

    def let_go(self) -> None:
        """End what is under way, and let nothing begin."""
        with self._lock:
            self._is_over = True
            handles = list(self._handles)
        for handle in handles:
            handle.cancel()

    def _in_time(self, request: AnyRequest) -> AnyRequest:
        if self._is_over:
            raise Cancelled("nobody waits for the answer any more")
        if self._deadline_s is None:
            return request
        left_s = self._began_s + self._deadline_s - time.monotonic()
        if left_s <= 0:
            raise DeadlineExceeded(f"no answer within {self._deadline_s:g} s")
        given_s = request.deadline_s
        return replace(request, deadline_s=left_s if given_s is None else min(given_s, left_s))

    def _done(self, handle: Handle[Result]) -> None:
        with self._lock:
            self._handles.discard(handle)
        self._free.release()


class Leashed(Around):
    """Implements `Backend`: another one, asked on the leash of the thread that asks.

    One of them serves all errands, since tasks keep by backend what they measured with it; with
    adapters it is another backend. `watch`
    is shown every request that is under way.
    """

    def __init__(self, backend: Backend, watch: Callable[[Handle[Result]], None]) -> None:
        super().__init__(backend)
        self._watch = watch
        self._of_thread = threading.local()

    def is_around(self, backend: Backend) -> bool:
        """Whether it is this one that is asked."""
        return self._backend is backend

    @contextmanager
    def on(self, leash: Leash) -> Iterator[None]:
        """Within this, requests of this thread are held by that leash."""
        self._of_thread.leash = leash
        try:
            yield
        finally:
            del self._of_thread.leash

    def answered(self, request: AnyRequest) -> Handle[Result]:
        """See `Around`."""
        leash: Leash = self._of_thread.leash
        handle = leash.submit(super().answered, request)
        self._watch(handle)
        return handle


class Errands:
    """Runs tasks for one server."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._most = facts.options.max_requests
        self._backends: dict[AdapterScales, Leashed] = {}
        # Its own threads: errands take long, and the desk needs threads for moments. Batches have
        # as many under way as the backend is wide, beside those that the desk lets in.
        n_most = self._most + facts.backend.width
        self._threads = ThreadPoolExecutor(n_most, thread_name_prefix="errand")

    async def outcomes(
        self,
        http: HttpRequest | None,
        work: Task | Together,
        items: Sequence[Item],
        *,
        n_places: int | None = None,
        adapters: AdapterScales = (),
    ) -> list[Outcome]:
        """The answer to each item, or its error, in order; under `adapters`.

        It takes a place at the desk for each item that is under way at once, or `n_places`. A
        client that leaves ends it; without a connection (`http` None) that is the cancellation of
        the asyncio task. Raises what the desk raises, and what is wrong with the whole.
        """
        backend = self._under(adapters)
        wanted = len(items) if n_places is None else n_places
        n_at_once = max(1, min(wanted, backend.width, self._most))

        def run(leash: Leash) -> list[Outcome]:
            with backend.on(leash):
                return _outcomes(work, items, backend, n_at_once, leash)

        leash = Leash(backend.width, self._facts.deadline_s)
        return await self._facts.desk.errand(http, n_at_once, lambda: self._held(leash, run))

    def _under(self, adapters: AdapterScales) -> Leashed:
        """The backend under adapters; another one where a name has come to mean another adapter."""
        backend = self._facts.personas.backend_of(adapters)
        known = self._backends.get(adapters)
        if known is None or not known.is_around(backend):
            if len(self._backends) > MOST_BACKENDS:
                self._backends.clear()
            known = self._backends[adapters] = Leashed(backend, self._facts.metrics.watch)
        return known

    async def _held(self, leash: Leash, run: Callable[[Leash], list[Outcome]]) -> list[Outcome]:
        """What `run` gives. When this is cancelled it waits for the thread to have let go."""
        loop = asyncio.get_running_loop()
        working = loop.run_in_executor(self._threads, run, leash)
        try:
            return await asyncio.shield(working)
        finally:
            leash.let_go()
            await asyncio.wait([working])
            # Read, or asyncio tells of it with its traceback: where a client left, nobody waits.
            working.exception()


def _outcomes(
    work: Task | Together, items: Sequence[Item], backend: Backend, workers: int, leash: Leash
) -> list[Outcome]:
    if isinstance(work, Together):
        return work.outcomes(items, backend, workers)
    outcomes: list[Outcome] = []
    with closing(answers(items, work, backend, workers)) as found:
        for _, outcome in found:
            if leash.is_over:
                raise Cancelled("nobody waits for the answer any more")
            outcomes.append(outcome)
    return outcomes
