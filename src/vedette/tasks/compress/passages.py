"""Passages of a few sentences, and chunks of many: units of a text packed by tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .selection import Candidate

PASSAGE_TOKENS = 200
CHUNK_TOKENS = 1500


@dataclass(frozen=True, slots=True)
class Passage:
    """Units that stand side by side; `score` is the mean of theirs, by length."""

    candidates: tuple[Candidate, ...]
    tokens: int

    @property
    def span(self) -> tuple[int, int]:
        """Where it stands in the source."""
        return self.candidates[0].unit.start, self.candidates[-1].unit.end

    @property
    def score(self) -> float:
        """The best of its units' scores."""
        return max(one.score for one in self.candidates)


def passages(
    text: str,
    candidates: Sequence[Candidate],
    count_tokens: Callable[[str], int],
    *,
    most_tokens: int = PASSAGE_TOKENS,
    least_tokens: int = 0,
) -> list[Passage]:
    """Runs of neighbours of up to `most_tokens`, in order; never cut inside a unit.

    From `least_tokens` on a passage ends where a heading or a block begins.
    """
    found: list[Passage] = []
    run: list[Candidate] = []
    taken = 0
    for one in sorted(candidates, key=lambda each: each.number):
        tokens = count_tokens(text[one.unit.start : one.unit.end]) + 1
        if run and _ends(run[-1], one, taken, tokens, most_tokens, least_tokens):
            found.append(Passage(tuple(run), taken))
            run, taken = [], 0
        run.append(one)
        taken += tokens
    if run:
        found.append(Passage(tuple(run), taken))
    return found


def _ends(last: Candidate, one: Candidate, taken: int, tokens: int, most: int, least: int) -> bool:
    if one.number != last.number + 1 or taken + tokens > most:
        return True
    if not least or taken < least:
        return False
    return one.unit.kind == "heading" or (taken > (least + most) // 2 and one.unit.is_first)
