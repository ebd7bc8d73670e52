"""What guessing k tokens a step is worth: S(k) = E / (v(k+1) + k c + a d + f).

E tokens come of a step: 1 + the sum over i of the chance that the first i guesses are all right.
v(n) = T(n)/T(1) is what checking costs, c the draft's token and f the rest, in plain steps
(Leviathan et al. 2022, arXiv 2211.17192, without its assumption that checking is free).
With the chance a that all k are right, the draft has not read its last guess yet: it then has two
tokens to read before it can guess again, and the second takes d.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from vedette.spec.parameters import Fit
from vedette.spec.speed import StepTime


def expected_tokens(acceptances: Sequence[float]) -> float:
    """E for these chances, each that of a guess whose predecessors were right."""
    total = together = 1.0
    for chance in acceptances:
        together *= chance
        total += together
    return total


def tokens_by_share(k: int, accepted_share: float) -> float:
    """E by what llama.cpp reports: the share of all guesses that were accepted, k a step."""
    return 1 + k * accepted_share


def constant_acceptance(k: int, accepted_share: float) -> float:
    """The chance a of every guess with which `accepted_share` of k guesses a step are accepted."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        if expected_tokens([middle] * k) < tokens_by_share(k, accepted_share):
            low = middle
        else:
            high = middle
    return (low + high) / 2


def draft_acceptance(fit: Fit, *, target_parameters: float, draft_parameters: float) -> float:
    """The chance of a draft model's guess, by how much smaller it is."""
    halvings = max(0.0, math.log2(target_parameters / draft_parameters))
    return min(0.97, max(0.05, fit.draft_acceptance - fit.draft_acceptance_per_halving * halvings))


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Seconds: a step of the target by its tokens, a token of the draft, what else a step costs.

    With several `sequences` at once a step checks all their guesses together, and `draft_s` is a
    step of the draft for all of them; `catch_up_s` is what a second token of each adds to it.
    """

    target: StepTime
    draft_s: float
    overhead_s: float
    catch_up_s: float = 0.0
    sequences: int = 1

    def plain_s(self) -> float:
        """A step without guesses."""
        return self.target.seconds(self.sequences)

    def step_s(self, k: int, all_right: float = 0.0) -> float:
        """A step with k guesses for each sequence, which are all right with this chance."""
        if k == 0:
            return self.plain_s()
        checked_s = self.target.seconds(self.sequences * (k + 1))
        guessed_s = k * self.draft_s + all_right * self.catch_up_s
        return checked_s + guessed_s + self.overhead_s

    def speedup(self, k: int, tokens: float, all_right: float = 0.0) -> float:
        """S(k) when a step brings so many tokens to each sequence."""
        return tokens * self.plain_s() / self.step_s(k, all_right)


def catch_up_s(draft: StepTime, sequences: int = 1) -> float:
    """What a second token of each sequence adds to a step of the draft.

    Where two tokens in one step take longer than two steps, they are read one after the other.
    """
    one_s = draft.seconds(sequences)
    return min(one_s, max(0.0, draft.seconds(2 * sequences) - one_s))


def copying_speedup(
    costs: Costs, k: int, *, copied: float, acceptance: float, as_measured: float = 1.0
) -> float:
    """S of n-gram guesses: only the copied share of the tokens is guessed, the rest goes as ever.

    A token outside of copies finds no n-gram, so that nothing is guessed and nothing lost. Within
    copies the speed-up is taken `as_measured` times.
    """
    plain_s = costs.plain_s()
    copied_s = costs.step_s(k) / expected_tokens([acceptance] * k) / as_measured
    return plain_s / ((1 - copied) * plain_s + copied * copied_s)
