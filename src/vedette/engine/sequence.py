"""The engine's one noun: a list of tokens, some in the cache, the rest pending."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vedette.types import Timings, Usage

from .holder import Start
from .llama.adapter import NO_ADAPTERS, AdapterSet
from .llama.batch import Vectors


class Work(Protocol):
    """What a sequence is run for: a text to be generated, or a branch of a trie to be scored."""

    def settle(self, sequence: Sequence, rows: NDArray[np.float32], first_index: int) -> None:
        """Use the logits of a step.

        `rows` follow the positions from `sequence.logits_from` on, (n, n_vocab), valid only
        during the call, those of `sequence.guesses` among them; `first_index` is the batch index
        of the first. Appends tokens or sets `sequence.finished`. A typed error raised here ends
        this request only.
        """
        ...

    def fail(self, error: BaseException) -> None:
        """End the request with an error."""
        ...

    @property
    def cancelled(self) -> bool:
        """Whether the caller has asked for the end."""
        ...


@dataclass(frozen=True, slots=True)
class Shown:
    """Vectors in the place of tokens, from position `start` of a prompt on.

    The ids that stand there belong to no token (they are negative) and tell the cache what was
    shown: the same picture has the same ids, and no other one has.
    """

    start: int
    vectors: Vectors

    @property
    def end(self) -> int:
        """The position after it."""
        return self.start + len(self.vectors)

    def slice(self, first: int, most: int) -> Vectors:
        """What comes next at position `first`: `most` rows of it, or all that must go together."""
        if self.vectors.is_whole:
            return self.vectors
        at = first - self.start
        return Vectors(self.vectors.values[at : at + most], is_whole=False)


@dataclass(slots=True, eq=False)
class Sequence:
    """`tokens[:n_cached]` are in the cache, the rest is pending.

    Logits are wanted from position `logits_from` on. `n_total` bounds what it may grow to;
    `n_shared` leading tokens are declared to be the same for many items. `guesses` may come after
    all of `tokens`: they go into the next step to be checked, and are never more than guesses.
    While it waits, younger ones were admitted before it `n_passed` times. All of it is computed
    under `adapters`. `shown` are pictures in the prompt, in order.
    """

    work: Work
    tokens: list[int]
    n_prompt: int
    n_total: int
    n_shared: int = 0
    logits_from: int = 0
    adapters: AdapterSet = NO_ADAPTERS
    shown: tuple[Shown, ...] = ()
    deadline: float | None = None
    start: Start | None = None
    parent: Sequence | None = None
    n_cached: int = 0
    guesses: list[int] = field(default_factory=list)
    n_passed: int = 0
    finished: bool = False
    prefix_tokens: int = 0
    submitted_at: float = field(default_factory=time.monotonic)
    admitted_at: float = 0.0
    first_logits_at: float = 0.0

    @property
    def seq_id(self) -> int:
        """Its number in the KV cache; only while it is live."""
        assert self.start is not None
        return self.start.seq_id

    @property
    def n_pending(self) -> int:
        """Tokens not in the cache yet."""
        return len(self.tokens) - self.n_cached

    @property
    def in_prompt(self) -> bool:
        """Still being prefilled."""
        return self.n_cached < self.n_prompt

    @property
    def shown_next(self) -> Shown | None:
        """The picture that comes next, if none of its tokens does."""
        return next((each for each in self.shown if each.start <= self.n_cached < each.end), None)

    @property
    def tokens_end(self) -> int:
        """Up to where tokens come next: to the next picture, or to the end."""
        starts = (each.start for each in self.shown if each.start >= self.n_cached)
        return next(starts, len(self.tokens))

    @property
    def may_be_cached(self) -> list[int]:
        """The tokens that may come from the cache: where logits are wanted they are computed."""
        return self.tokens[: self.logits_from]

    @property
    def before_answer(self) -> list[int]:
        """The prompt without its last token, which an answer that is rewritten computes again."""
        return self.tokens[: self.n_prompt - 1]

    def timings(self) -> Timings:
        """Where the time went, up to now."""
        now = time.monotonic()
        first = self.first_logits_at or now
        admitted = self.admitted_at or now
        return Timings(
            queue_ms=(admitted - self.submitted_at) * 1e3,
            prefill_ms=max(0.0, first - admitted) * 1e3,
            decode_ms=max(0.0, now - first) * 1e3,
        )

    def usage(self, forced_tokens: int, sampled_tokens: int) -> Usage:
        """Tokens of this request so far."""
        return Usage(
            prompt_tokens=self.n_prompt,
            # Forced tokens of the answer may come from the cache too; they are no prompt.
            cached_tokens=min(self.prefix_tokens, self.n_prompt),
            forced_tokens=forced_tokens,
            sampled_tokens=sampled_tokens,
        )
