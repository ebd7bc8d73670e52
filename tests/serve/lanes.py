"""A backend with so many lanes, first come first served, whose answers come when a test says so."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Generator, Iterator
from concurrent.futures import Future
from typing import Any

from vedette.errors import Cancelled, EngineFailed
from vedette.types import Capabilities, Completion, Request, Usage


class Waiting:
    """A request that was submitted."""

    def __init__(self, text: str, lanes: Lanes) -> None:
        self.text = text
        self._lanes = lanes
        self._future: Future[Completion] = Future()

    def settle(self, outcome: Completion | Exception) -> None:
        """The first outcome is the one."""
        if not self._future.done():
            if isinstance(outcome, Completion):
                self._future.set_result(outcome)
            else:
                self._future.set_exception(outcome)

    def result(self, timeout_s: float | None = None) -> Completion:
        return self._future.result(timeout_s)

    def cancel(self) -> None:
        self._lanes.drop(self)
        self.settle(Cancelled("cancelled"))

    def on_done(self, callback: Any) -> None:
        self._future.add_done_callback(lambda _: callback())

    def __iter__(self) -> Iterator[str]:
        yield self.result().text

    def __await__(self) -> Generator[Any, None, Completion]:
        return asyncio.wrap_future(self._future).__await__()


class Lanes:
    """Implements `Backend`. A request that has a lane is answered once `answers` says so of it.

    `flaky` texts fail with a retryable error at their first try.
    """

    name = "tiny"

    def __init__(self, width: int, answers=lambda text: True) -> None:
        self.width = width
        self.answers = answers
        self.asked: Counter[str] = Counter()
        self.capabilities = Capabilities()
        self.identity = {"model": "lanes"}
        self.counts: dict[str, int] = {}
        self._waiting: list[Waiting] = []
        self._lock = threading.RLock()

    @property
    def in_lanes(self) -> list[str]:
        with self._lock:
            return [one.text for one in self._waiting[: self.width]]

    def submit(self, request: Request) -> Waiting:
        text = request.prompt.messages[-1].content
        waiting = Waiting(text, self)
        with self._lock:
            self.asked[text] += 1
            self._waiting.append(waiting)
        self.go_on()
        return waiting

    def drop(self, waiting: Waiting) -> None:
        with self._lock:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
        self.go_on()

    def go_on(self) -> None:
        """Answer what has a lane and may be answered, until nothing is left of it."""
        with self._lock:
            while ready := [w for w in self._waiting[: self.width] if self.answers(w.text)]:
                for waiting in ready:
                    self._waiting.remove(waiting)
                    is_first = self.asked[waiting.text] == 1
                    if waiting.text.startswith("flaky") and is_first:
                        waiting.settle(EngineFailed("not this time"))
                    else:
                        usage = Usage(prompt_tokens=1, sampled_tokens=1)
                        text = waiting.text.upper()
                        waiting.settle(Completion(text=text, finish_reason="stop", usage=usage))

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def close(self) -> None: ...
