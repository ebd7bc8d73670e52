"""What must not happen beside a step: done on the loop's thread, between two of them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeAlias, TypeVar

from vedette.errors import EngineFailed

from .room import Room

T = TypeVar("T")
Errand: TypeAlias = Callable[[Room], None]


class Errands:
    """Calls that wait for the end of a step. `run` and `post` may be called from any thread.

    `changed` is what the loop waits on while it has nothing to do.
    """

    def __init__(self, changed: threading.Condition) -> None:
        self._changed = changed
        self._waiting: deque[tuple[Errand, Future[None] | None]] = deque()
        self._end: EngineFailed | None = None

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def run(self, errand: Callable[[Room], T]) -> T:
        """Have it done and wait for what it returns or raises.

        Never called from the loop's own thread. Raises `EngineFailed` when the loop has ended.
        """
        results: list[T] = []
        done: Future[None] = Future()

        def call(room: Room) -> None:
            results.append(errand(room))

        with self._changed:
            if self._end is not None:
                raise self._end
            self._waiting.append((call, done))
            self._changed.notify_all()
        done.result()
        return results[0]

    def post(self, errand: Errand) -> None:
        """Have it done at the next occasion; never, if the loop has ended: the model goes too."""
        with self._changed:
            if self._end is None:
                self._waiting.append((errand, None))
                self._changed.notify_all()

    def do_all(self, room: Room) -> None:
        """The loop's side. What a posted errand raises is the loop's own failure."""
        while self._waiting:
            errand, done = self._waiting.popleft()
            try:
                errand(room)
            except BaseException as error:
                if done is None:
                    raise
                done.set_exception(error)
            else:
                if done is not None:
                    done.set_result(None)

    def close(self, failure: EngineFailed | None) -> None:
        """The loop has ended: who waits is told, and nobody may come any more."""
        with self._changed:
            self._end = failure or EngineFailed("the engine is closed")
            waiting, self._waiting = self._waiting, deque()
        for _, done in waiting:
            if done is not None:
                done.set_exception(self._end)
