"""The seam: tasks, batch and serve speak `Backend` and never know where tokens come from."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar, overload, runtime_checkable

from vedette.errors import CapabilityMissing
from vedette.types import (
    AnyRequest,
    Capabilities,
    Completion,
    Embedding,
    EmbedRequest,
    Json,
    Prompt,
    Request,
    ScoreRequest,
    Scores,
    TokenLogprob,
)

Result: TypeAlias = Completion | Scores | Embedding
R_co = TypeVar("R_co", bound=Result, covariant=True)


class Handle(Protocol[R_co]):
    """A request under way. Safe to use from any thread."""

    def result(self, timeout_s: float | None = None) -> R_co:
        """Wait for the answer. Raises its typed error, or TimeoutError if it is still running."""
        ...

    def cancel(self) -> None:
        """Ask for the end; `result` then raises `Cancelled` unless the answer was already there."""
        ...

    def on_done(self, callback: Callable[[], None]) -> None:
        """Call `callback` once when `result` will not block; at once if that is so already.

        It runs on the backend's own thread and must not block.
        """
        ...

    def __iter__(self) -> Iterator[str]:
        """Whole characters of text as they are decided. Ends, or raises, as `result` does."""
        ...

    def __await__(self) -> Generator[Any, None, R_co]:
        """Await the answer from an asyncio task; cancelling the task cancels the request."""
        ...


@runtime_checkable
class TellsLogprobs(Protocol):
    """A handle that tells log-probabilities while the answer is being written."""

    @property
    def logprobs(self) -> Sequence[TokenLogprob]:
        """Of the tokens so far; it grows. That of a sampled token is there before its text.

        Empty up to the end for an answer that may still be rewritten, and behind servers.
        """
        ...


class Identified(Protocol):
    """What has the identity of a backend."""

    @property
    def identity(self) -> dict[str, Json]:
        """As `Backend.identity`."""
        ...


class Backend(Protocol):
    """Anything that answers requests: the in-process engine, a llama-server, a URL."""

    @property
    def name(self) -> str:
        """The model as people call it, for reports."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What can be asked of it."""
        ...

    @property
    def identity(self) -> dict[str, Json]:
        """What an answer depends on: model file and its hash, or URL and model name."""
        ...

    @property
    def width(self) -> int:
        """How many requests are worth having under way at once."""
        ...

    @overload
    def submit(self, request: Request) -> Handle[Completion]: ...
    @overload
    def submit(self, request: ScoreRequest) -> Handle[Scores]: ...
    @overload
    def submit(self, request: EmbedRequest) -> Handle[Embedding]: ...
    def submit(self, request: AnyRequest) -> Handle[Result]:
        """Queue a request and return at once.

        Raises `InputError` for one that can never be met and `CapabilityMissing` for what this
        backend cannot do; where only the far side can tell, the handle raises it.
        """
        ...

    def check(self, request: AnyRequest) -> None:
        """Find out, without an answer, whether a request could be met. Raises as `submit` does."""
        ...

    def show_prompt(self, request: AnyRequest) -> str:
        """The prompt as the model reads it, or as the far side is given it."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of a text by the model's own tokenizer; an estimate where it cannot be asked."""
        ...

    @property
    def counts(self) -> Mapping[str, int]:
        """What has happened so far that the summary of a job should tell, by name."""
        ...

    def close(self) -> None:
        """End it; requests under way are cancelled."""
        ...


def check_plain(prompt: Prompt) -> None:
    """For a backend that is sent texts: raises `CapabilityMissing` for tools and pictures."""
    if prompt.has_tools:
        raise CapabilityMissing(
            "this backend does not show tools to a model by its template",
            hint="describe them in a message, or use --backend local",
        )
    if prompt.has_pictures:
        raise CapabilityMissing(
            "this backend is given no pictures",
            hint="use --backend local with a model that has a projector",
        )


def check_tier(request: AnyRequest) -> None:
    """For a backend that is one tier only: raises `CapabilityMissing` for requests to another."""
    if request.tier:
        raise CapabilityMissing(
            f"there is no tier {request.tier}: this backend is one model",
            hint="ask a backend of several tiers",
        )


def refuse_adapters(request: AnyRequest) -> None:
    """For a backend that applies none: raises `CapabilityMissing` for requests that name some."""
    if request.adapters:
        raise CapabilityMissing(
            f"the adapter {request.adapters[0][0]!r} cannot be applied: this backend has none",
            hint="ask the engine in this process (--backend local)",
        )
