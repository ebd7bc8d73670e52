"""Before each step: which sequences guess, from what, and how many tokens."""

from __future__ import annotations

import time
from collections.abc import Sequence as Sequences

from vedette.engine.generate import Generation
from vedette.engine.sequence import Sequence

from .acceptance import Acceptance
from .governor import Governor, Offer
from .guessing import Guessing, Try
from .ngram import MOST_MATCH, Found, continuation
from .policy import MOST_GUESSES
from .step_times import StepTimes

NGRAM_PRIORS = ((2, 0.3), (3, 0.45), (5, 0.6), (8, 0.7), (16, 0.8), (MOST_MATCH, 0.9))
"""The longer the match, the likelier it goes on: matches up to so many tokens, and the rate to
begin with, before any was checked."""


class Speculator:
    """Puts guesses on the sequences that are writing. On the loop's thread only."""

    def __init__(self, times: StepTimes) -> None:
        self._times = times
        self._governor = Governor()
        self._ngrams = [Acceptance(prior) for _, prior in NGRAM_PRIORS]

    def guess(self, live: Sequences[Sequence], batch_tokens: int) -> None:
        """Set the guesses of the coming step."""
        writing = []
        for sequence in live:
            sequence.guesses = []
            work = sequence.work
            if isinstance(work, Generation) and not sequence.in_prompt and not work.has_ended:
                writing.append((sequence, work))
        curve = self._times.curve()
        if not writing or curve is None:
            return
        n_decoding = sum(sequence.n_pending for sequence in live if not sequence.in_prompt)
        n_prompt = sum(sequence.n_pending for sequence in live if sequence.in_prompt)
        n_others = min(n_prompt, batch_tokens - n_decoding)
        token_s = curve.seconds(n_decoding) / len(writing)
        asking: list[_Ask] = []
        for sequence, work in writing:
            work.guessing.token_s = token_s
            ask = self._ask(sequence, work)
            if ask is not None:
                asking.append(ask)
        free = [ask for ask in asking if ask.guessing.policy.kind == "auto"]
        chosen = self._governor.choose(
            curve, n_decoding, max(0, n_others), [ask.offers for ask in free]
        )
        for ask in asking:
            if ask.guessing.policy.kind == "fixed":
                self._put(ask, len(ask.tokens))
        for ask, choice in zip(free, chosen, strict=True):
            if choice is not None:
                self._put(ask, choice.n)
                now = ask.guessing.now
                assert now is not None
                now.extra_s = curve.seconds(n_decoding + choice.n) - curve.seconds(n_decoding)

    def _ask(self, sequence: Sequence, work: Generation) -> _Ask | None:
        """What could be guessed for a sequence; None if nothing."""
        guessing = work.guessing
        if guessing.policy.kind == "off":
            return None
        # The last token of an answer is never worth a guess behind it.
        most = min(MOST_GUESSES, sequence.n_total - len(sequence.tokens) - 1)
        if guessing.policy.kind == "fixed":
            most = min(most, guessing.policy.n)
        if most < 1:
            return None
        began = time.perf_counter()
        found = guessing.index.find(sequence.tokens)
        tokens = continuation(sequence.tokens, found.at, most) if found else []
        if tokens and work.matcher is not None:
            del tokens[work.matcher.n_legal(tokens) :]
        guessing.guess_s += time.perf_counter() - began
        if not tokens or found is None:
            return None
        return _Ask(sequence, guessing, tokens, self._acceptance(guessing, found))

    def _acceptance(self, guessing: Guessing, found: Found) -> Acceptance:
        """The counts of matches as long as this one, in this answer."""
        i = next(i for i, (most, _) in enumerate(NGRAM_PRIORS) if found.n_match <= most)
        name = f"ngram {NGRAM_PRIORS[i][0]}"
        if name not in guessing.acceptance:
            parent = self._ngrams[i]
            guessing.acceptance[name] = Acceptance(parent.prior, parent)
        return guessing.acceptance[name]

    def _put(self, ask: _Ask, n: int) -> None:
        ask.sequence.guesses = ask.tokens[:n]
        ask.guessing.now = Try("ngram", ask.acceptance)


class _Ask:
    """One sequence's guesses to choose from."""

    def __init__(
        self,
        sequence: Sequence,
        guessing: Guessing,
        tokens: list[int],
        acceptance: Acceptance,
    ) -> None:
        self.sequence = sequence
        self.guessing = guessing
        self.tokens = tokens
        self.acceptance = acceptance
        self.offers: list[Offer] = []
        if guessing.policy.kind == "auto":
            self.offers.append(Offer("ngram", acceptance.expected(len(tokens))))
