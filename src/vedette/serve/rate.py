"""How often a key may ask: a token bucket."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from vedette.errors import InputError

UNITS_S = {"s": 1, "min": 60, "h": 3600, "day": 86400}
_FORM = re.compile(rf"([1-9]\d{{0,8}})/({'|'.join(UNITS_S)})")


@dataclass(frozen=True, slots=True)
class Rate:
    """So many requests in a unit of time. After a pause, all of them may come at once."""

    requests: int
    unit: str

    @classmethod
    def of(cls, text: str) -> Rate:
        """Read `60/min`. Raises `InputError`."""
        found = _FORM.fullmatch(text)
        if found is None:
            raise InputError(
                f"{text!r} is no rate", hint=f"a number, / and one of {', '.join(UNITS_S)}: 60/min"
            )
        return cls(int(found[1]), found[2])

    def __str__(self) -> str:
        return f"{self.requests}/{self.unit}"

    @property
    def per_second(self) -> float:
        """Requests a second."""
        return self.requests / UNITS_S[self.unit]


class Bucket:
    """Holds as many tokens as the rate has requests, full at first, and fills up steadily."""

    def __init__(self, rate: Rate, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._tokens = float(rate.requests)
        self._filled_at = clock()

    def take(self) -> float:
        """Take one token: 0. Where there is none, the seconds until there will be one."""
        now = self._clock()
        gained = (now - self._filled_at) * self._rate.per_second
        self._tokens = min(float(self._rate.requests), self._tokens + gained)
        self._filled_at = now
        if self._tokens < 1:
            return (1 - self._tokens) / self._rate.per_second
        self._tokens -= 1
        return 0.0
