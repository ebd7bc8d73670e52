"""What a rule says of a value that it cannot settle."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from vedette.types import Json


class Unsettled(Exception):
    """A value that no rule could settle, and why.

    `candidates` are the readings between which the value leaves the choice. `ask`: whether a model
    may find what the rule did not see. It may not where the value itself does not say it, as with a
    date that can be read in two ways: whatever is answered would be a guess.
    """

    def __init__(self, reason: str, *, candidates: tuple[Json, ...] = (), ask: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.candidates = candidates
        self.ask = ask and not candidates

    def mapped(self, change: Callable[[Decimal], Json]) -> Unsettled:
        """The same of a value made of this one: each reading that is a number is changed."""
        readings = tuple(
            one
            if isinstance(one, bool) or not isinstance(one, int | float)
            else change(Decimal(str(one)))
            for one in self.candidates
        )
        return Unsettled(self.reason, candidates=readings, ask=self.ask)


def ambiguous(*candidates: Json) -> Unsettled:
    """The value can be read in these ways."""
    return Unsettled("ambiguous", candidates=candidates)
