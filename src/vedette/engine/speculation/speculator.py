"""Before each step: which sequences guess, from what, and how many tokens."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as Sequences

from vedette.engine.curve import CostCurve
from vedette.engine.generate import Generation
from vedette.engine.sequence import Sequence

from .governor import Governor, Offer
from .guessing import Try
from .policy import MOST_GUESSES
from .source import Proposal, Source
from .step_times import StepTimes

HORIZON = 16
"""What a source costs before its first guess may be spread over so many steps."""


class Speculator:
    """Puts guesses on the sequences that are writing. On the loop's thread only."""

    def __init__(self, times: StepTimes, sources: Iterable[Source]) -> None:
        self._times = times
        self._sources = {source.name: source for source in sources}
        self._governor = Governor()

    def guess(self, live: Sequences[Sequence], batch_tokens: int) -> None:
        """Set the guesses of the coming step."""
        writing: list[tuple[Sequence, Generation]] = []
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
        n_others = max(0, min(n_prompt, batch_tokens - n_decoding))
        token_s = curve.seconds(n_decoding) / len(writing)
        asks: list[list[Proposal]] = []
        fixed: list[tuple[Proposal, int]] = []
        for sequence, work in writing:
            work.guessing.token_s = token_s
            proposals = self._proposals(sequence, work)
            if work.guessing.policy.kind == "fixed":
                fixed += [(proposal, proposal.most) for proposal in proposals]
            elif proposals:
                asks.append(proposals)
        chosen = [*fixed, *self._choose(curve, n_decoding, n_others, asks)]
        self._put(chosen, curve, n_decoding)

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
        self, curve: CostCurve, n_decoding: int, n_others: int, asks: list[list[Proposal]]
    ) -> list[tuple[Proposal, int]]:
        offers: list[dict[Offer, Proposal]] = [
            {
                Offer(
                    own.source,
                    tuple(own.acceptance.expected(own.most)),
                    own.cost_s,
                    own.entry_s,
                    own.entry_s / HORIZON,
                ): own
                for own in proposals
            }
            for proposals in asks
        ]
        choices = self._governor.choose(curve, n_decoding, n_others, [tuple(own) for own in offers])
        return [
            (own[choice.offer], choice.n)
            for own, choice in zip(offers, choices, strict=True)
            if choice is not None
        ]

    def _put(self, chosen: list[tuple[Proposal, int]], curve: CostCurve, n_decoding: int) -> None:
        """Have the guesses made, source by source, and put them on their sequences."""
        by_source: Mapping[str, list[tuple[Proposal, int]]] = {
            name: [one for one in chosen if one[0].source == name] for name in self._sources
        }
        for name, own in by_source.items():
            if not own:
                continue
            began = time.perf_counter()
            made = self._sources[name].guess(own)
            each_s = (time.perf_counter() - began) / len(own)
            for (proposal, _), guesses in zip(own, made, strict=True):
                proposal.sequence.guesses = guesses.tokens
                n_all = n_decoding + len(guesses.tokens)
                extra_s = curve.seconds(n_all) - curve.seconds(n_decoding) + each_s
                guessing = proposal.work.guessing
                guessing.guess_s += each_s
                guessing.now = Try(name, proposal.acceptance, extra_s, guesses.drawn)

    def close(self) -> None:
        """Free the sources."""
        for source in self._sources.values():
            source.close()
