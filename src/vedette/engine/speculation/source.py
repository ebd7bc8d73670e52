"""What a source of guesses offers for one sequence, and how it makes them."""

from __future__ import annotations

from collections.abc import Sequence as Sequences
from dataclasses import dataclass, field
from typing import Protocol

from vedette.engine.choose import Drawn
from vedette.engine.generate import Generation
from vedette.engine.sequence import Sequence

from .acceptance import Acceptance


@dataclass(slots=True, eq=False)
class Proposal:
    """At most `most` guesses for a sequence, how likely they are right, and what they cost.

    `cost_s` is for each guess, `entry_s` once, before the first. `tokens` are there where making
    them costs nothing; the source learns by itself then which of them are right, made or not.
    """

    source: str
    sequence: Sequence
    work: Generation
    acceptance: Acceptance
    most: int
    cost_s: float = 0.0
    entry_s: float = 0.0
    tokens: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Guesses:
    """Tokens that may come next; `drawn` says of each how, where they were drawn at random.

    `entry_s` is what was spent before the first of them.
    """

    tokens: list[int]
    drawn: tuple[Drawn, ...] = ()
    entry_s: float = 0.0


class Source(Protocol):
    """Guesses tokens. Used on the loop's thread only."""

    name: str

    def propose(self, sequence: Sequence, work: Generation, most: int) -> Proposal | None:
        """What it could guess; None if nothing. Cheap."""
        ...

    def guess(self, chosen: Sequences[tuple[Proposal, int]]) -> list[Guesses]:
        """So many guesses of each, made together; fewer where it knows no more."""
        ...

    def close(self) -> None:
        """Free what it holds."""
        ...
