"""Guesses from what was written before: the tokens that followed the same words last time."""

from __future__ import annotations

from collections.abc import Sequence as Sequences
from itertools import takewhile

from vedette.engine.generate import Generation
from vedette.engine.sequence import Sequence

from .acceptance import Acceptance
from .ngram_index import MOST_MATCH, continuation
from .source import Guesses, Proposal

PRIORS = ((2, 0.3), (3, 0.45), (5, 0.6), (8, 0.7), (16, 0.8), (MOST_MATCH, 0.9))
"""The longer the match, the likelier it goes on: matches up to so many tokens, and the rate to
begin with, before any was checked."""
COPYING = 0.6
"""Where so much of what was written last stood before, the text is being copied: then a match is
worth more."""
COPYING_PRIOR = 0.5
"""So much of what is missing to certainty is added to the rate to begin with then."""


class NgramSource:
    """Implements `Source`: the prompt and the answer so far, as one text.

    What it would guess is held against what is written whether it was asked or not, so how often
    it is right is known at no cost.
    """

    name = "ngram"

    def __init__(self) -> None:
        self._acceptance = {
            is_copying: [
                Acceptance(prior + is_copying * COPYING_PRIOR * (1 - prior)) for _, prior in PRIORS
            ]
            for is_copying in (False, True)
        }

    def propose(self, sequence: Sequence, work: Generation, most: int) -> Proposal | None:
        """See `Source.propose`; what the constraint forbids is cut off."""
        work.guessing.shadow.check(sequence.tokens)
        index = work.guessing.index
        found = index.find(sequence.tokens)
        if found is None:
            return None
        tokens = [*takewhile(_is_token, continuation(sequence.tokens, found.at, most))]
        if work.matcher is not None:
            del tokens[work.matcher.n_legal(tokens) :]
        if not tokens:
            return None
        acceptance = self._of(work, found.n_match)
        work.guessing.shadow.note(len(sequence.tokens), tokens, acceptance)
        return Proposal(self.name, sequence, work, acceptance, len(tokens), tokens=tokens)

    def _of(self, work: Generation, n_match: int) -> Acceptance:
        """The counts of matches as long as this one, in this answer."""
        i = next(i for i, (most, _) in enumerate(PRIORS) if n_match <= most)
        is_copying = work.guessing.shadow.hit_rate >= COPYING
        name = f"ngram, {PRIORS[i][0]} alike{' in a copy' if is_copying else ''}"
        return work.guessing.acceptance_of(name, self._acceptance[is_copying][i])

    def guess(self, chosen: Sequences[tuple[Proposal, int]]) -> list[Guesses]:
        """See `Source.guess`."""
        return [Guesses(proposal.tokens[:n]) for proposal, n in chosen]

    def close(self) -> None:
        """Nothing is held."""


def _is_token(number: int) -> bool:
    """The numbers below 0 are places of a picture."""
    return number >= 0
