"""What guessing did for one answer, and how it will be told."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from vedette.engine.choose import Drawn
from vedette.types import Speculation

from .acceptance import POSITIONS, Acceptance
from .account import Account
from .governor import MARGIN
from .ngram_index import NgramIndex
from .policy import Policy
from .shadow import Shadow


@dataclass(slots=True)
class Try:
    """The guesses of one sequence that are in the step under way.

    `made_s` is what it took to make them, `entry_s` what came before the first, `added_s` what
    they add to the step; the two `accounts`, the answer's and the source's, pay for it.
    `acceptance` is None where the source learns by itself.
    """

    source: str
    acceptance: Acceptance | None
    accounts: tuple[Account, Account]
    made_s: float = 0.0
    entry_s: float = 0.0
    added_s: float = 0.0
    drawn: tuple[Drawn, ...] = ()


@dataclass(slots=True)
class Guessing:
    """The state of one answer's guesses. Made by the engine, used by its loop only."""

    policy: Policy
    why_not: str = ""
    index: NgramIndex = field(default_factory=NgramIndex)
    shadow: Shadow = field(default_factory=Shadow)
    accounts: dict[str, Account] = field(default_factory=dict)
    acceptance: dict[str, Acceptance] = field(default_factory=dict)
    now: Try | None = None
    token_s: float = 0.0
    guess_s: float = 0.0
    random: np.random.Generator | None = None
    draft_at_best: float = 0.0
    draft_rate: float = 0.0
    _steps: int = 0
    _tokens: int = 0
    _sources: dict[str, list[int]] = field(default_factory=dict)
    _positions: list[list[int]] = field(default_factory=list)
    _plain_s: float = 0.0
    _spent_s: float = 0.0

    def acceptance_of(self, name: str, parent: Acceptance) -> Acceptance:
        """The counts of a kind of guess in this answer; they begin with those of all answers."""
        if name not in self.acceptance:
            self.acceptance[name] = Acceptance(parent.prior, parent)
        return self.acceptance[name]

    def account_of(self, source: str) -> Account:
        """What this answer may still lose by a source's guesses."""
        if source not in self.accounts:
            self.accounts[source] = Account.of_answer()
        return self.accounts[source]

    def drawn(self, n: int) -> Drawn | None:
        """How the guess of this number in the step was drawn; None if it was not at random."""
        return self.now.drawn[n] if self.now and n < len(self.now.drawn) else None

    def took(self, n_guessed: int, n_right: int, n_tokens: int, n_decided: int) -> None:
        """A step brought `n_tokens`, of which `n_decided` would each have taken a step.

        Of its guesses the first `n_right` were right.
        """
        self._steps += 1
        self._tokens += n_tokens
        self._plain_s += n_decided * self.token_s
        self._spent_s += self.token_s
        attempt, self.now = self.now, None
        if attempt is None:
            return
        self._spent_s += attempt.made_s + attempt.added_s + attempt.entry_s
        self._book(attempt, (n_decided - 1) * self.token_s - attempt.made_s - attempt.added_s)
        if not n_guessed:
            return
        if attempt.acceptance is not None:
            attempt.acceptance.add(n_guessed, n_right)
        counts = self._sources.setdefault(attempt.source, [0, 0])
        counts[0] += n_guessed
        counts[1] += n_right
        for position in range(min(n_right + 1, n_guessed, 4 * POSITIONS)):
            if position == len(self._positions):
                self._positions.append([0, 0])
            self._positions[position][0] += 1
            self._positions[position][1] += position < n_right

    def _book(self, attempt: Try, won_s: float) -> None:
        """What it costs to begin is the source's to earn back, over many answers if need be."""
        if self.token_s > 0 and self.policy.kind == "auto":  # fixed guesses are asked to lose
            own, source = attempt.accounts
            own.add(won_s / self.token_s)
            source.add((won_s - attempt.entry_s) / self.token_s)

    def report(self) -> Speculation:
        """The account of the whole answer."""
        guessed, right = (sum(counts[i] for counts in self._sources.values()) for i in (0, 1))
        speedup = self._plain_s / self._spent_s if self._spent_s else 1.0
        return Speculation(
            policy=str(self.policy),
            steps=self._steps,
            tokens=self._tokens,
            guessed=guessed,
            right=right,
            sources=tuple((name, n, of) for name, (n, of) in self._sources.items()),
            by_position=tuple((n, of) for n, of in self._positions),
            guess_ms=self.guess_s * 1e3,
            speedup=speedup,
            verdict=self._verdict(guessed, right, speedup),
        )

    def _verdict(self, guessed: int, right: int, speedup: float) -> str:
        if self.why_not and not guessed:
            return f"off: {self.why_not}"
        if self.policy.kind == "off":
            return "off: asked for"
        if not guessed:
            return self._why_none()
        names = " and ".join(self._sources)
        told = f"{names}: {right} of {guessed} guesses right"
        per_step = self._tokens / self._steps if self._steps else 0.0
        if speedup < 1:
            return f"{told}; about {1 - speedup:.0%} of the speed lost"
        return f"{told}, {per_step:.1f} tokens a step; about {speedup:.2f} times the speed without"

    def _why_none(self) -> str:
        """Why no guess was made though they were welcome."""
        if not self.draft_at_best:
            return "off: nothing to guess from, or no guess promised to pay"
        if self.draft_at_best <= 1 + MARGIN:
            return (
                "off: even with every guess right, the draft would bring "
                f"{self.draft_at_best:.2f} times the speed without"
            )
        return f"off: with {self.draft_rate:.0%} of its guesses right the draft does not pay here"
