"""How many guesses of which source pay in this step: goodput by the measured cost of a step."""

from __future__ import annotations

import math
from collections.abc import Sequence as Sequences
from dataclasses import dataclass

from vedette.engine.curve import CostCurve

MARGIN = 0.02
"""Guesses must promise so much more than none: less is within what is known of the costs."""
PROBE_SHARE = 0.0025
"""Of the time, so much may go by expectation into guesses that only teach."""
MOST_SAVED_STEPS = 64.0
LADDER = (1, 2, 3, 4, 5, 6, 7, 8, 11, 15, 19, 23, 27, 31)
"""Numbers of guesses that are compared."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What a source could guess for one sequence: at most `len(taken)` tokens.

    `taken[k - 1]` is how many of k guesses will be right, by expectation; `cost_s` is what one
    guess takes to make, `entry_s` what comes before the first, `spread_s` the part of it that
    this step is to earn. `stake_s` is what may be lost if none is right. `must_ask` says that only
    guesses tell how good they are: others are known without being made.
    """

    source: str
    taken: tuple[float, ...]
    cost_s: float = 0.0
    entry_s: float = 0.0
    spread_s: float = 0.0
    stake_s: float = math.inf
    must_ask: bool = True


@dataclass(frozen=True, slots=True)
class Chosen:
    """`n` guesses of an offer; `is_probe` if they are made to learn."""

    offer: Offer
    n: int
    is_probe: bool = False


class Governor:
    """Chooses by expected tokens over expected time of the whole step, never by acceptance alone.

    The step's batch is shared, so what a guess costs depends on all that is in it: choices are
    made one after another, the one that adds most first, until none adds.
    """

    def __init__(self) -> None:
        self._saved_s = 0.0

    def choose(
        self, curve: CostCurve, n_decoding: int, n_others: int, asks: Sequences[Sequences[Offer]]
    ) -> list[Chosen | None]:
        """For each sequence's offers the best choice, or None.

        `n_decoding` tokens come from the sequences that write, `n_others` from prompts.
        """
        chosen: list[Chosen | None] = [None] * len(asks)
        step = _Step(curve, n_decoding, n_others, len(asks))
        best = step.goodput(0, 0.0, 0.0)
        limit = best * (1 + MARGIN)
        n_all, gain, cost_s = 0, 0.0, 0.0
        while True:
            found = None
            for i, offers in enumerate(asks):
                if chosen[i] is not None:
                    continue
                for offer in offers:
                    for n in LADDER:
                        if n > len(offer.taken):
                            break
                        if step.stake_s(n_all, n, offer) > offer.stake_s:
                            continue  # a larger step may cost less
                        value = step.goodput(
                            n_all + n,
                            gain + offer.taken[n - 1],
                            cost_s + n * offer.cost_s + offer.spread_s,
                        )
                        if value > limit:
                            limit, found = value, (i, Chosen(offer, n))
            if found is None:
                break
            i, choice = found
            chosen[i] = choice
            n_all += choice.n
            gain += choice.offer.taken[choice.n - 1]
            cost_s += choice.n * choice.offer.cost_s + choice.offer.spread_s
        self._saved_s = min(
            self._saved_s + PROBE_SHARE * step.plain_s, MOST_SAVED_STEPS * step.plain_s
        )
        if not n_all:
            self._probe(step, asks, chosen)
        return chosen

    def _probe(
        self, step: _Step, asks: Sequences[Sequences[Offer]], chosen: list[Chosen | None]
    ) -> None:
        """Make the cheapest guesses that teach something, once what they lose has been saved."""
        options = [
            (step.loss_s(n, offer.taken[n - 1], n * offer.cost_s + offer.entry_s), -n, i, offer)
            for i, offers in enumerate(asks)
            for offer in offers
            for n in LADDER[:3]
            if offer.must_ask
            and n <= len(offer.taken)
            and step.stake_s(0, n, offer) <= offer.stake_s
        ]
        if options:
            loss_s, minus_n, i, offer = min(options, key=lambda option: option[:3])
            if loss_s <= self._saved_s:
                self._saved_s -= max(0.0, loss_s)
                chosen[i] = Chosen(offer, -minus_n, is_probe=True)


class _Step:
    """One step's costs by the number of guesses in it."""

    def __init__(self, curve: CostCurve, n_decoding: int, n_others: int, n_sequences: int) -> None:
        self._curve = curve
        self._n = n_decoding + n_others
        self._n_sequences = n_sequences
        self.plain_s = curve.seconds(n_decoding)
        self._all_s = curve.seconds(self._n)
        self._extra_s: dict[int, float] = {0: 0.0}

    def extra_s(self, n_guesses: int) -> float:
        """What so many guesses add to the step. A prompt in it takes its time anyway."""
        if n_guesses not in self._extra_s:
            self._extra_s[n_guesses] = self._curve.seconds(self._n + n_guesses) - self._all_s
        return self._extra_s[n_guesses]

    def goodput(self, n_guesses: int, n_taken: float, cost_s: float) -> float:
        """Tokens a second."""
        seconds = self.plain_s + self.extra_s(n_guesses) + cost_s
        return (self._n_sequences + n_taken) / max(seconds, 1e-9)

    def stake_s(self, n_before: int, n: int, offer: Offer) -> float:
        """What `n` guesses behind `n_before` others lose if none is right."""
        return self.extra_s(n_before + n) - self.extra_s(n_before) + n * offer.cost_s

    def loss_s(self, n_guesses: int, n_taken: float, cost_s: float) -> float:
        """Time that the guesses lose against writing the same tokens one by one."""
        return self.extra_s(n_guesses) + cost_s - n_taken * self.plain_s / self._n_sequences
