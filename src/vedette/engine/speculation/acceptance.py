"""How often guesses have turned out right, by source, by how sure it was, and by position."""

from __future__ import annotations

from dataclasses import dataclass, field

POSITIONS = 8
"""Later guesses are counted with the last of these."""
DECAY = 0.98
"""What is known weighs so much after each further guess at the same place: about fifty count."""
PRIOR_GUESSES = 4.0


@dataclass(slots=True)
class Tally:
    """Right guesses and all, the old ones fading."""

    right: float = 0.0
    tried: float = 0.0

    def add(self, *, is_right: bool) -> None:
        """Count one guess."""
        self.right = DECAY * self.right + is_right
        self.tried = DECAY * self.tried + 1

    def rate(self, prior: float) -> float:
        """The share that is right, `prior` counting as much as `PRIOR_GUESSES` guesses."""
        return (self.right + PRIOR_GUESSES * prior) / (self.tried + PRIOR_GUESSES)


@dataclass(slots=True)
class Acceptance:
    """Tallies of one kind of guess. `prior` is the rate before anything was seen.

    A rate is that of a guess whose predecessors in the same step were right: those behind a wrong
    one are not counted.
    """

    prior: float
    parent: Acceptance | None = None
    _tallies: list[Tally] = field(default_factory=lambda: [Tally() for _ in range(POSITIONS)])

    def add(self, n_guessed: int, n_right: int) -> None:
        """Count one step's guesses, here and where this one looks for its prior."""
        for i in range(min(n_right + 1, n_guessed)):
            self._tallies[min(i, POSITIONS - 1)].add(is_right=i < n_right)
        if self.parent is not None:
            self.parent.add(n_guessed, n_right)

    def rate(self, position: int) -> float:
        """The rate of the guess at this position, 0 the first."""
        prior = self.parent.rate(position) if self.parent else self.prior
        return self._tallies[min(position, POSITIONS - 1)].rate(prior)

    def expected(self, n: int) -> list[float]:
        """Guesses taken of the first 1, 2 ... n, by expectation."""
        total, reach, sums = 0.0, 1.0, []
        for position in range(n):
            reach *= self.rate(position)
            total += reach
            sums.append(total)
        return sums
