"""What guesses have won and lost, which is what may be staked on the next ones."""

from __future__ import annotations

from dataclasses import dataclass

SHARE = 0.01
"""Of the time spent writing, so much may be lost to find out whether guesses pay."""
ANSWER_START, ANSWER_MOST = 3.0, 16.0
SOURCE_START, SOURCE_MOST = 8.0, 64.0


@dataclass(slots=True)
class Account:
    """A balance in steps without guesses, at most `most`: what was won long ago is not lost again.

    No guess is made that could lose more than the balance, so an account never goes below what it
    began with and its share of the time, as long as steps take what they are known to take
    (conservative exploration: Wu et al. 2016, "Conservative Bandits").
    """

    balance: float
    most: float

    @classmethod
    def of_answer(cls) -> Account:
        """One source's account within one answer."""
        return cls(ANSWER_START, ANSWER_MOST)

    @classmethod
    def of_source(cls) -> Account:
        """One source's account over all answers of an engine."""
        return cls(SOURCE_START, SOURCE_MOST)

    def add(self, steps: float) -> None:
        """Book what was won, or lost if it is below 0."""
        self.balance = min(self.most, self.balance + steps)
