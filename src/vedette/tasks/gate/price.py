"""What tokens of the larger tier cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

from vedette.errors import InputError

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """For a million tokens, in whatever currency."""

    input: float
    output: float

    def of(self, tokens_in: float, tokens_out: float) -> float:
        """What these tokens cost."""
        return (tokens_in * self.input + tokens_out * self.output) / MILLION


def parse_price(text: str) -> Price:
    """`INPUT` or `INPUT,OUTPUT`; without the second, both cost the same. Raises `InputError`."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2) or not all(math.isfinite(n) and n >= 0 for n in numbers):
        raise InputError(
            f"the price is {text!r}; it must be one or two numbers, INPUT[,OUTPUT]",
            hint="for a million tokens of the larger tier: --price 0.15,0.60",
        )
    return Price(numbers[0], numbers[-1])
