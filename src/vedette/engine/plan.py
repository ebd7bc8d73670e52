"""Which sequences, how many pending tokens of each: one step's batch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .sequence import Sequence


@dataclass(frozen=True, slots=True)
class Slice:
    """The next `n_tokens` pending tokens of a sequence, the last `n_wanted` with logits."""

    sequence: Sequence
    n_tokens: int
    n_wanted: int


def plan(live: Iterable[Sequence], budget_tokens: int, budget_outputs: int) -> list[Slice]:
    """Fill a step: sequences that decode come first, prompts take what is left, in order.

    A prompt's slice stops at the end of its shared part, where the cache keeps a copy.
    """
    slices: list[Slice] = []
    for sequence in sorted(live, key=lambda s: s.in_prompt):  # stable: decoding before prefill
        if budget_tokens == 0:
            break
        end = min(len(sequence.tokens), sequence.n_cached + budget_tokens)
        if sequence.n_cached < sequence.n_shared < end:
            end = sequence.n_shared
        n_wanted = max(0, end - max(sequence.logits_from, sequence.n_cached))
        if n_wanted > budget_outputs:
            end -= n_wanted - budget_outputs
            n_wanted = budget_outputs
        n_tokens = end - sequence.n_cached
        if n_tokens <= 0:
            continue
        slices.append(Slice(sequence, n_tokens, n_wanted))
        budget_tokens -= n_tokens
        budget_outputs -= n_wanted
    return slices
