"""Who of those that wait is admitted next.

The longest prefix in the cache first (Zheng et al. 2023, SGLang, arXiv 2312.07104, section 3): the
rows about one document are answered while it is there. What is declared to be shared does not
count: it stays anyway, and all requests of a task have it.
"""

from __future__ import annotations

from collections.abc import Sequence as Sequences

from .cells import WORTH_TOKENS, Cells
from .embed import EmbedWork
from .prefix import n_common
from .score import RootWork
from .sequence import Sequence

LOOKED_AT = 16
"""So many of those that wait are compared, the oldest ones."""
MOST_PASSED = 16
"""So often the oldest one is passed over; then it is the next."""


def has_place(live: Sequences[Sequence], width: int, sequence: Sequence) -> bool:
    """Whether one more may be live. Closed questions end with their prompts, so twice as many."""
    ends_soon = isinstance(sequence.work, RootWork | EmbedWork)
    return sum(other.parent is None for other in live) < width * (2 if ends_soon else 1)


def next_of(
    waiting: Sequences[Sequence], live: Sequences[Sequence], cells: Cells
) -> Sequence | None:
    """The one to be admitted, of some in the order in which they came; None if all should wait."""
    if waiting and waiting[0].n_passed >= MOST_PASSED:
        return waiting[0]
    best: tuple[int, Sequence] | None = None
    for sequence in waiting:
        n_known = cells.n_known(sequence.may_be_cached, sequence.adapters)
        if _waits(sequence, n_known, live, cells):
            continue
        n_gained = n_known - sequence.n_shared
        rank = n_gained if n_gained >= WORTH_TOKENS else 0
        if best is None or rank > best[0]:
            best = rank, sequence
    return best[1] if best else None


def _waits(sequence: Sequence, n_known: int, live: Sequences[Sequence], cells: Cells) -> bool:
    """Whether another one is just computing what this one would share.

    That goes on in every step, so the wait is no longer than the other's prompt.
    """
    if not cells.shares:
        return False
    own, n_shared = sequence.may_be_cached, sequence.n_shared
    for other in live:
        if other.parent is not None or not other.in_prompt:
            continue
        if other.adapters != sequence.adapters:
            continue
        if cells.shares_live and n_common(own, other.before_answer) - n_known >= WORTH_TOKENS:
            return True
        declared = max(n_known, other.n_cached) < n_shared == other.n_shared
        if declared and other.tokens[:n_shared] == sequence.tokens[:n_shared]:
            return True
    return False
