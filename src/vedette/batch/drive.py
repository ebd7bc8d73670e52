"""Drives many items' steps over one backend at a time; knows no files and no order."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Generic, Self, TypeVar, cast

from vedette.backends.base import Backend, Handle, Result
from vedette.errors import Cancelled, InputError, RequestError, VedetteError
from vedette.tasks.base import Ask, Steps, Task
from vedette.types import Answer, Item, Usage

from .results import Outcome

RETRY_AFTER_S = (0.2, 1.0, 5.0)
"""A request that fails with a retryable error is asked again after these times, then given up."""

Tag = TypeVar("Tag")


class _Run(Generic[Tag]):
    """One item under way: its generator and the requests of its present step."""

    __slots__ = ("asks", "error", "handles", "open", "results", "started", "steps", "tag", "tries")

    def __init__(self, tag: Tag) -> None:
        self.tag = tag
        self.steps: Steps | None = None
        self.started = False
        self.open = 0  # requests not settled yet, those that wait to be tried again included
        self.error: VedetteError | None = None
        self.asks: Sequence[Ask] = ()
        self.handles: list[Handle[Result] | None] = []
        self.results: list[Result | None] = []
        self.tries: list[int] = []

    def resume(self) -> Sequence[Ask]:
        """Run the generator to its next requests; raises what it raises, StopIteration at last."""
        steps = cast(Steps, self.steps)
        if self.error is not None:
            error, self.error = self.error, None
            return steps.throw(error)
        if not self.started:
            self.started = True
            return next(steps)
        return steps.send(cast(list[Result], self.results))

    def cancel(self) -> None:
        """Cancel the requests of this step that are under way."""
        for handle in self.handles:
            if handle is not None:
                handle.cancel()


class Driver(Generic[Tag]):
    """Keeps items in flight. `start` begins one, `wait` says which are over.

    All methods belong to one thread, except `wake`. An item's `InputError` or `RequestError` is
    its outcome; any other exception is raised by `start` or `wait` and should end the job.
    """

    def __init__(
        self, task: Task, backend: Backend, *, retry_after_s: Sequence[float] = RETRY_AFTER_S
    ) -> None:
        self.usage = Usage()
        """Tokens of every request that was answered, those of failed items included."""
        self.retried_requests = 0
        self.task = task
        """What is done to items that are started from now on."""
        self._backend = backend
        self._retry_after_s = tuple(retry_after_s)
        self._events: SimpleQueue[tuple[_Run[Tag], int] | None] = SimpleQueue()
        self._runs: set[_Run[Tag]] = set()
        self._over: list[tuple[Tag, Outcome]] = []
        self._retries: list[tuple[float, int, _Run[Tag], int]] = []
        self._numbers = count()
        self._stopping = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def in_flight(self) -> int:
        """Items started and not yet given out by `wait`."""
        return len(self._runs) + len(self._over)

    def start(self, tag: Tag, item: Item) -> None:
        """Begin an item; `tag` is what `wait` will call it."""
        run = _Run(tag)
        self._runs.add(run)
        try:
            if item.picture is not None and item.reading is None:
                raise InputError(
                    f"the picture of {item.id} has not been read",
                    hint="vedette.batch.read_pictures.read_item reads it",
                )
            run.steps = self.task.steps(item, self._backend)
        except (InputError, RequestError) as error:
            self._end(run, error)
        else:
            self._advance(run)

    def wait(self, timeout_s: float | None = None) -> list[tuple[Tag, Outcome]]:
        """Block until an item is over, `wake` is called or the time is up.

        Returns the items that are over, in the order in which they ended; maybe none.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        woken = False
        while not self._over and not woken and (self._runs or not self._stopping):
            try:
                event = self._events.get(timeout=self._patience_s(deadline))
            except Empty:
                woken = deadline is not None and time.monotonic() >= deadline
            else:
                woken = self._settle_all(event)
            self._retry_due()
        return self.take()

    def take(self) -> list[tuple[Tag, Outcome]]:
        """The items that are over already, without waiting."""
        over, self._over = self._over, []
        return over

    def wake(self) -> None:
        """Make `wait` return. Safe from any thread and from signal handlers."""
        self._events.put(None)

    def stop(self) -> None:
        """Cancel what is under way. An item that has all it needs still ends; the others vanish."""
        self._stopping = True
        for run in list(self._runs):
            run.cancel()
        for _, _, run, _ in self._retries:
            self._events.put((run, -1))
        self._retries.clear()

    def close(self) -> None:
        """Cancel and forget everything at once, without waiting."""
        runs, self._runs = self._runs, set()
        for run in runs:
            run.cancel()
            if run.steps is not None:
                run.steps.close()
        self._retries.clear()

    def _advance(self, run: _Run[Tag]) -> None:
        """Run the item until it waits for requests or is over."""
        while run.open == 0:
            try:
                asks = run.resume()
            except StopIteration as end:
                self._end(run, end.value)
                return
            except (InputError, RequestError) as error:
                self._end(run, error)
                return
            if self._stopping and asks:
                cast(Steps, run.steps).close()
                self._runs.discard(run)
                return
            self._ask(run, asks)

    def _ask(self, run: _Run[Tag], asks: Sequence[Ask]) -> None:
        run.asks = asks
        run.handles = [None] * len(asks)
        run.results = [None] * len(asks)
        run.tries = [0] * len(asks)
        for index in range(len(asks)):
            if run.error is not None:
                break
            run.open += 1
            self._submit(run, index)

    def _submit(self, run: _Run[Tag], index: int) -> None:
        ask = run.asks[index]
        handle: Handle[Result]
        try:
            # Its overloads take one kind of request each, and this is any.
            submit = cast(Callable[[Ask], Handle[Result]], self._backend.submit)
            handle = submit(ask)
        except VedetteError as error:
            self._fail(run, index, error)
            return
        run.handles[index] = handle
        handle.on_done(partial(self._events.put, (run, index)))

    def _settle_all(self, event: tuple[_Run[Tag], int] | None) -> bool:
        """Settle this event and all that have come meanwhile; whether `wake` was among them."""
        woken = False
        while True:
            if event is None:
                woken = True
            else:
                self._settle(*event)
            try:
                event = self._events.get_nowait()
            except Empty:
                return woken

    def _settle(self, run: _Run[Tag], index: int) -> None:
        """Take one request's result; when it was the last one, the item goes on."""
        if index < 0:  # it was waiting to be tried again when `stop` came
            run.open -= 1
            run.error = run.error or Cancelled("stopped")
        else:
            try:
                result = cast(Handle[Result], run.handles[index]).result()
            except VedetteError as error:
                self._fail(run, index, error)
            else:
                run.results[index] = result
                run.open -= 1
                self.usage += result.usage
        if run.open == 0:
            self._advance(run)

    def _fail(self, run: _Run[Tag], index: int, error: VedetteError) -> None:
        """Have the request tried again, or let its error end the step and cancel its siblings."""
        run.handles[index] = None
        may_retry = error.retryable and run.error is None and not self._stopping
        if may_retry and run.tries[index] < len(self._retry_after_s):
            due = time.monotonic() + self._retry_after_s[run.tries[index]]
            run.tries[index] += 1
            heapq.heappush(self._retries, (due, next(self._numbers), run, index))
            return
        run.open -= 1
        if run.error is None:
            run.error = error
            run.cancel()

    def _retry_due(self) -> None:
        while self._retries and (
            self._retries[0][0] <= time.monotonic() or self._retries[0][2].error is not None
        ):
            _, _, run, index = heapq.heappop(self._retries)
            if run.error is None:
                self.retried_requests += 1
                self._submit(run, index)
            else:
                run.open -= 1
            if run.open == 0:
                self._advance(run)

    def _patience_s(self, deadline: float | None) -> float | None:
        """How long to wait for an event: until the next retry or the deadline."""
        times = [time for time in (deadline, self._next_retry) if time is not None]
        return max(0.0, min(times) - time.monotonic()) if times else None

    @property
    def _next_retry(self) -> float | None:
        return self._retries[0][0] if self._retries else None

    def _end(self, run: _Run[Tag], outcome: object) -> None:
        self._runs.discard(run)
        if not isinstance(outcome, Answer | VedetteError):
            kind = type(outcome).__name__
            raise TypeError(f"task {self.task.name} returned {kind}, not an Answer")
        if not (self._stopping and isinstance(outcome, RequestError)):
            self._over.append((run.tag, outcome))
