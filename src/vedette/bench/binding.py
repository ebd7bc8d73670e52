"""A third side: llama-cpp-python's own chat completion with a schema, one item at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from vedette.errors import EngineFailed
from vedette.types import Request, Usage

from .bodies import answer_schema, chat_messages
from .client import PeerReply
from .runs import Run, run_of
from .served import Read
from .stopwatch import Stopwatch

NAME = "llama-cpp-python"
Complete = Callable[..., dict[str, Any]]
Ask = Callable[[Request], PeerReply]


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """The binding as its documentation shows it, with the threads and room of the other sides."""

    model: Path
    threads: int
    context_tokens: int

    def run(
        self,
        warmup: Request,
        items: Sequence[Sequence[Request]],
        read: Read,
        *,
        grounded: bool = False,
    ) -> Run:
        """Answer all items, warmed up, the loading not timed.

        A request that it fails at is an error reply. Raises `EngineFailed` if it cannot load the
        model.
        """
        with self.opened(grounded=grounded) as ask:
            ask(warmup)
            watch = Stopwatch()
            replies = [read([ask(request) for request in requests]) for requests in items]
            elapsed = watch.stop()
        return run_of(NAME, elapsed, tuple(replies))

    @contextmanager
    def opened(self, *, grounded: bool = False) -> Iterator[Ask]:
        """A loaded model to ask, one request at a time. Raises as `run` does."""
        import llama_cpp

        try:
            model = llama_cpp.Llama(
                str(self.model),
                n_ctx=self.context_tokens,
                n_threads=self.threads,
                n_threads_batch=self.threads,
                verbose=False,
            )
        except ValueError as error:  # its way of saying so
            raise EngineFailed(f"{NAME} cannot load {self.model}: {error}") from error
        try:
            yield partial(_ask, model.create_chat_completion, grounded)
        finally:
            model.close()


def _ask(complete: Complete, grounded: bool, request: Request) -> PeerReply:
    assert request.constraint is not None
    schema = answer_schema(request.constraint, grounded=grounded)
    started = time.perf_counter()
    try:
        answer = complete(
            messages=chat_messages(request.prompt),
            response_format={"type": "json_object", "schema": schema},
            temperature=0.0,
            max_tokens=request.max_tokens,
        )
    except (ValueError, RuntimeError) as error:  # too long, or a failed decode
        return PeerReply(error=str(error))
    choice, used = answer["choices"][0], answer["usage"]
    return PeerReply(
        text=cast(str, choice["message"]["content"] or ""),
        finish_reason=cast(str, choice["finish_reason"]),
        usage=Usage(prompt_tokens=used["prompt_tokens"], sampled_tokens=used["completion_tokens"]),
        wall_ms=(time.perf_counter() - started) * 1000,
    )
