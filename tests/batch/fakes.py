"""A backend without a model, and a task for it. Imported by tests and by their subprocesses."""

from __future__ import annotations

import hashlib
import heapq
import itertools
import os
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

from vedette.errors import Cancelled, EngineFailed, InputError, InputTooLong
from vedette.types import (
    Answer,
    Capabilities,
    Completion,
    Item,
    Message,
    Prompt,
    Request,
    Usage,
)


class FakeHandle:
    """A request that is settled by the fake's own thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._event = threading.Event()
        self._callbacks: list[Callable[[], None]] = []
        self._outcome: Completion | Exception | None = None

    def settle(self, outcome: Completion | Exception) -> None:
        with self._lock:
            if self._outcome is not None:
                return
            self._outcome = outcome
            callbacks, self._callbacks = self._callbacks, []
        self._event.set()
        for callback in callbacks:
            callback()

    def result(self, timeout_s: float | None = None) -> Completion:
        if not self._event.wait(timeout_s):
            raise TimeoutError
        if isinstance(self._outcome, Completion):
            return self._outcome
        assert self._outcome is not None
        raise self._outcome

    def cancel(self) -> None:
        self.settle(Cancelled("cancelled"))

    @property
    def was_cancelled(self) -> bool:
        return isinstance(self._outcome, Cancelled)

    def on_done(self, callback: Callable[[], None]) -> None:
        with self._lock:
            if self._outcome is None:
                self._callbacks.append(callback)
                return
        callback()

    def __iter__(self) -> Iterator[str]:
        yield self.result().text

    def __await__(self) -> Generator[Any, None, Completion]:
        raise NotImplementedError
        yield


class FakeBackend:
    """Answers the last message in upper case, after a delay that depends on the text only.

    Words in a text steer it: `too-long` is refused by `submit`, `break` fails for good, `flaky`
    fails with a retryable error at its first try, `dead` at each. `log` names a file that takes
    one line for every request that is answered.
    """

    def __init__(
        self, *, delay_ms: float = 0.0, width: int = 8, log: str | None = None, model: str = "fake"
    ) -> None:
        self.width = width
        self.identity = {"model": model, "sha256": hashlib.sha256(model.encode()).hexdigest()}
        self.capabilities = Capabilities()
        self.counts: dict[str, int] = {}
        self.submitted: list[str] = []
        self.handles: list[FakeHandle] = []
        self.most_in_flight = 0
        self.on_submit: Callable[[], object] = lambda: None
        self._in_flight = 0
        self._delay_ms = delay_ms
        self._tries: dict[str, int] = {}
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND) if log else -1
        self._due: list[tuple[float, int, str, FakeHandle]] = []
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        if delay_ms:
            threading.Thread(target=self._serve, daemon=True).start()

    def submit(self, request: Request) -> FakeHandle:
        text = request.prompt.messages[-1].content
        if "too-long" in text:
            raise InputTooLong("9,000 tokens do not fit into 4,096", hint="shorten the input")
        handle = FakeHandle()
        if not self._delay_ms:
            self._answer(text, handle)
            return handle
        self.submitted.append(text)
        self.handles.append(handle)
        spread = int.from_bytes(hashlib.sha256(text.encode()).digest()[:2], "big") / 65536
        due = time.monotonic() + self._delay_ms * 2 * spread / 1000
        with self._changed:
            self._in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self._in_flight)
            heapq.heappush(self._due, (due, next(self._numbers), text, handle))
            self._changed.notify()
        self.on_submit()
        return handle

    def answer(self, index: int) -> None:
        """Answer the request that was submitted as the `index`th, now."""
        self._answer(self.submitted[index], self.handles[index])

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def close(self) -> None:
        for _, _, _, handle in self._due:
            handle.cancel()

    def _serve(self) -> None:
        while True:
            with self._changed:
                while not self._due or self._due[0][0] > time.monotonic():
                    timeout = self._due[0][0] - time.monotonic() if self._due else None
                    self._changed.wait(timeout)
                _, _, text, handle = heapq.heappop(self._due)
                self._in_flight -= 1
            self._answer(text, handle)

    def _answer(self, text: str, handle: FakeHandle) -> None:
        tries = 0
        if "flaky" in text or "dead" in text:
            tries = self._tries[text] = self._tries.get(text, 0) + 1
        if self._log >= 0:
            os.write(self._log, text.encode() + b"\n")
        if "break" in text:
            handle.settle(InputError("it broke", hint="do not"))
        elif ("flaky" in text and tries == 1) or "dead" in text:
            handle.settle(EngineFailed("llama_decode returned -3"))
        else:
            words = len(text.split())
            usage = Usage(prompt_tokens=10 + words, cached_tokens=tries, sampled_tokens=words)
            handle.settle(Completion(text=text.upper(), finish_reason="stop", usage=usage))


def ask(text: str) -> Request:
    return Request(prompt=Prompt(messages=(Message("user", text),)))


class ShoutTask:
    """The text in upper case, asked for `steps` times; no request for an empty text."""

    name = "shout"

    def __init__(self, *, steps: int = 1, **identity: Any) -> None:
        self._steps = steps
        self.identity = {"steps": steps, **identity}

    def steps(
        self, item: Item, backend: object
    ) -> Generator[Sequence[Request], Sequence[Completion], Answer]:
        if "bug" in item.text:
            raise ZeroDivisionError("a bug in the task")
        if "refuse" in item.text:
            raise InputError("this item is refused")
        usage, shouted = Usage(), ""
        if item.text:
            for _ in range(self._steps):
                (completion,) = yield [ask(item.text)]
                usage += completion.usage
                shouted = completion.text
        extra = {"columns": dict(item.columns)} if item.columns else {}
        return Answer(value={"shouted": shouted}, usage=usage, extra=extra)
