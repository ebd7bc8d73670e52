"""Before each step: which sequences guess, from what, and how many tokens."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as Sequences

from vedette.engine.curve import CostCurve
from vedette.engine.generate import Generation
from vedette.engine.sequence import Sequence

from .account import SHARE, Account
from .governor import Governor, Offer
from .guessing import Try
from .policy import MOST_GUESSES
from .source import Proposal, Source
from .step_times import StepTimes

HORIZON = 16
"""What a source costs before its first guess may be spread over so many steps."""
HICCUP = 2.0
"""A step is booked as at most so many times as slow as its size is known to be."""


class Speculator:
    """Puts guesses on the sequences that are writing. On the loop's thread only."""

    def __init__(self, times: StepTimes, sources: Iterable[Source]) -> None:
        self._times = times
        self._sources = {source.name: source for source in sources}
        self._accounts = {name: Account.of_source() for name in self._sources}
        self._governor = Governor()
        self._under_way: list[tuple[Try, int]] = []
        self._n_decoding = 0
        self._is_clean = False

    def guess(self, live: Sequences[Sequence], batch_tokens: int) -> None:
        """Set the guesses of the coming step."""
        self._under_way = []
        writing: list[tuple[Sequence, Generation]] = []
        for sequence in live:
            sequence.guesses = []
            work = sequence.work
            if isinstance(work, Generation) and not sequence.in_prompt and not work.has_ended:
                writing.append((sequence, work))
        curve = self._times.curve()
        if not writing or curve is None:
            return
        self._n_decoding = sum(sequence.n_pending for sequence in live if not sequence.in_prompt)
        n_prompt = sum(sequence.n_pending for sequence in live if sequence.in_prompt)
        n_others = max(0, min(n_prompt, batch_tokens - self._n_decoding))
        self._is_clean = not n_others
        token_s = curve.seconds(self._n_decoding) / len(writing)
        asks: list[list[Proposal]] = []
        fixed: list[tuple[Proposal, int]] = []
        for sequence, work in writing:
            work.guessing.token_s = token_s
            proposals = self._proposals(sequence, work)
            if work.guessing.policy.kind == "fixed":
                fixed += [(proposal, proposal.most) for proposal in proposals]
            elif proposals:
                asks.append(proposals)
        chosen = [*fixed, *self._choose(curve, n_others, asks)]
        self._put(chosen, curve)

    def timed(self, decode_s: float) -> None:
        """The step with the guesses took so long: what they added is shared out among them.

        Where prompts were in it too, that stays what the curve says.
        """
        curve = self._times.curve()
        if not self._under_way or curve is None or not self._is_clean:
            return
        n_guesses = sum(n for _, n in self._under_way)
        expected_s = curve.seconds(self._n_decoding + n_guesses)
        added_s = min(decode_s, HICCUP * expected_s) - curve.seconds(self._n_decoding)
        for attempt, n in self._under_way:
            attempt.added_s = added_s * n / n_guesses

    def _proposals(self, sequence: Sequence, work: Generation) -> list[Proposal]:
        """What the sources could guess for a sequence."""
        policy = work.guessing.policy
        # The last token of an answer is never worth a guess behind it.
        most = min(MOST_GUESSES, sequence.n_total - len(sequence.tokens) - 1)
        if policy.kind == "fixed":
            most = min(most, policy.n)
        if policy.kind == "off" or most < 1:
            return []
        began = time.perf_counter()
        proposals = [
            proposal
            for name, source in self._sources.items()
            if policy.source in ("", name)
            and (proposal := source.propose(sequence, work, most)) is not None
        ]
        work.guessing.guess_s += time.perf_counter() - began
        return proposals

    def _choose(
        self, curve: CostCurve, n_others: int, asks: list[list[Proposal]]
    ) -> list[tuple[Proposal, int]]:
        if not asks:
            return []
        for account in self._accounts.values():
            account.add(SHARE * len(asks))
        offers = [{self._offer(own): own for own in proposals} for proposals in asks]
        if self._is_clean and self._times.is_old(self._n_decoding):
            return []  # what guesses bring can only be told by what a step takes without
        choices = self._governor.choose(
            curve, self._n_decoding, n_others, [tuple(own) for own in offers]
        )
        return [
            (own[choice.offer], choice.n)
            for own, choice in zip(offers, choices, strict=True)
            if choice is not None
        ]

    def _offer(self, own: Proposal) -> Offer:
        """The proposal with what it may lose: in this answer, and over all of them."""
        guessing, source = own.work.guessing, self._accounts[own.source]
        account = guessing.account_of(own.source)
        account.add(SHARE)
        stake = account.balance
        if own.entry_s and own.entry_s > source.balance * guessing.token_s:
            stake = 0.0
        return Offer(
            own.source,
            tuple(own.acceptance.expected(own.most)),
            own.cost_s,
            own.entry_s,
            own.entry_s / HORIZON,
            min(stake, source.balance) * guessing.token_s,
            must_ask=not own.tokens,
        )

    def _put(self, chosen: list[tuple[Proposal, int]], curve: CostCurve) -> None:
        """Have the guesses made, source by source, and put them on their sequences."""
        by_source: Mapping[str, list[tuple[Proposal, int]]] = {
            name: [one for one in chosen if one[0].source == name] for name in self._sources
        }
        for name, own in by_source.items():
            if not own:
                continue
            began = time.perf_counter()
            made = self._sources[name].guess(own)
            all_s = time.perf_counter() - began
            each_s = max(0.0, all_s - sum(guesses.entry_s for guesses in made)) / len(own)
            for (proposal, _), guesses in zip(own, made, strict=True):
                n_all = self._n_decoding + len(guesses.tokens)
                attempt = Try(
                    name,
                    None if proposal.tokens else proposal.acceptance,
                    (proposal.work.guessing.account_of(name), self._accounts[name]),
                    made_s=each_s,
                    entry_s=guesses.entry_s,
                    added_s=curve.seconds(n_all) - curve.seconds(self._n_decoding),
                    drawn=guesses.drawn,
                )
                proposal.sequence.guesses = guesses.tokens
                proposal.work.guessing.now = attempt
                proposal.work.guessing.guess_s += each_s + guesses.entry_s
                if guesses.tokens:
                    self._under_way.append((attempt, len(guesses.tokens)))

    def close(self) -> None:
        """Free the sources."""
        for source in self._sources.values():
            source.close()
