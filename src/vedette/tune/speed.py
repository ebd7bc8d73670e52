"""How fast a model reads and writes, measured in turns with others: they share every disturbance.

A visit to the prompt, to one sequence and to several gives a time each; the models take turns
within a round. What one model gains over another is the median over the rounds, each of which saw
both within a second or two.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from vedette.doctor.probe import WARM_TOKENS, Probe
from vedette.doctor.timings import Pace, fitting_prompt_tokens

WIDTH = 8  # sequences at once, as the engine has by default
LEAST_ROUNDS = 3
# An item as jobs have them: this much is read, this much written, half of it alone and half of it
# beside seven others.
READ_TOKENS, WRITTEN_TOKENS = 45, 30


@dataclass(frozen=True, slots=True)
class Round:
    """One visit each, in ms: a prompt of `prompt_tokens`, steps of 1 and of `WIDTH` sequences."""

    prompt_tokens: int
    prompt_ms: float
    alone_ms: float
    together_ms: float

    @property
    def item_ms(self) -> float:
        """Time of an item: reading and writing."""
        written_ms = (self.alone_ms + self.together_ms / WIDTH) / 2
        return READ_TOKENS * self.prompt_ms / self.prompt_tokens + WRITTEN_TOKENS * written_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """A model's pace in reading, in writing one sequence, and in writing several."""

    prefill: Pace
    alone: Pace
    together: Pace

    @classmethod
    def of(cls, rounds: Sequence[Round]) -> Speed:
        """The medians of these rounds."""
        return cls(
            prefill=Pace.of(rounds[0].prompt_tokens, [one.prompt_ms for one in rounds]),
            alone=Pace.of(1, [one.alone_ms for one in rounds]),
            together=Pace.of(WIDTH, [one.together_ms for one in rounds]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """How many times as fast as another: reading, writing, and an item of both."""

    prefill: float
    alone: float
    together: float
    item: float

    @classmethod
    def of(cls, base: Sequence[Round], other: Sequence[Round]) -> Gain:
        """What `other` gains over `base`, whose rounds were the same ones."""
        pairs = list(zip(base, other, strict=True))
        return cls(
            prefill=median(a.prompt_ms / b.prompt_ms for a, b in pairs),
            alone=median(a.alone_ms / b.alone_ms for a, b in pairs),
            together=median(a.together_ms / b.together_ms for a, b in pairs),
            item=median(a.item_ms / b.item_ms for a, b in pairs),
        )


def take_turns(probes: Sequence[Probe], seconds: float) -> list[list[Round]]:
    """Rounds over all probes for about `seconds`, but three at least; a list for each probe."""
    visit_s = seconds / (LEAST_ROUNDS * 3 * len(probes))
    warm_ms = max(probe.read_prompt(WARM_TOKENS) for probe in probes)
    most = min(probe.most_prompt_tokens for probe in probes)
    n = fitting_prompt_tokens(WARM_TOKENS, warm_ms, visit_s * 1000, most)
    found: list[list[Round]] = [[] for _ in probes]
    deadline = time.perf_counter() + seconds
    while len(found[0]) < LEAST_ROUNDS or time.perf_counter() < deadline:
        prompts = [probe.read_prompt(n) for probe in probes]
        alone = [median(probe.sequences(1, visit_s / 2)) for probe in probes]
        together = [median(probe.sequences(WIDTH, visit_s / 2)) for probe in probes]
        for rounds, *visits in zip(found, prompts, alone, together, strict=True):
            rounds.append(Round(n, *visits))
    return found
