"""Which sequences, how many pending tokens of each: one step's batch."""

from __future__ import annotations

from collections.abc import Sequence as Sequences
from dataclasses import dataclass

from .sequence import Sequence


@dataclass(frozen=True, slots=True)
class Slice:
    """The next `n_tokens` pending tokens of a sequence, the last `n_wanted` with logits.

    `n_guesses` guessed tokens come behind them, all with logits.
    """

    sequence: Sequence
    n_tokens: int
    n_wanted: int
    n_guesses: int = 0


def plan(live: Sequences[Sequence], budget_tokens: int, budget_outputs: int) -> list[Slice]:
    """Fill a step: sequences that decode come first, then their guesses, and prompts take what is
    left, in order.

    A prompt's slice stops at the end of its shared part, where the cache keeps a copy, and at a
    picture, which no batch of tokens can hold. Guesses that do not fit are dropped.
    """
    decoding = [sequence for sequence in live if not sequence.in_prompt]
    slices: list[Slice] = []
    for sequence in decoding:
        part = _known(sequence, budget_tokens, budget_outputs)
        if part is not None:
            slices.append(part)
            budget_tokens -= part.n_tokens
            budget_outputs -= part.n_wanted
    for i, part in enumerate(slices):
        sequence = part.sequence
        n = min(len(sequence.guesses), budget_tokens, budget_outputs)
        if part.n_tokens < sequence.n_pending:
            n = 0
        del sequence.guesses[n:]
        if n:
            slices[i] = Slice(sequence, part.n_tokens, part.n_wanted, n)
            budget_tokens -= n
            budget_outputs -= n
    for sequence in live:
        if sequence.in_prompt:
            part = _known(sequence, budget_tokens, budget_outputs)
            if part is not None:
                slices.append(part)
                budget_tokens -= part.n_tokens
                budget_outputs -= part.n_wanted
    return slices


def _known(sequence: Sequence, budget_tokens: int, budget_outputs: int) -> Slice | None:
    """The pending tokens of a sequence that fit, if any."""
    if sequence.shown_next is not None:
        return None
    end = min(sequence.tokens_end, sequence.n_cached + budget_tokens)
    if sequence.n_cached < sequence.n_shared < end:
        end = sequence.n_shared
    n_wanted = max(0, end - max(sequence.logits_from, sequence.n_cached))
    if n_wanted > budget_outputs:
        end -= n_wanted - budget_outputs
        n_wanted = budget_outputs
    n_tokens = end - sequence.n_cached
    return Slice(sequence, n_tokens, n_wanted) if n_tokens > 0 else None
