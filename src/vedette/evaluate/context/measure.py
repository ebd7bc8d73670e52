"""The measurement: how many facts are found, by length and depth, and what that comes to."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vedette.backends.base import Backend
from vedette.errors import CapabilityMissing, InputError
from vedette.tasks.budget import check_at_least_1
from vedette.types import Json

from .document import MOST_DEPTHS, document

KEEP_SHARE = 0.9
LEAST_ACCURACY = 0.5
LEAST_TOKENS = 256
_WARM_TOKENS = 256
_SLOWER_PER_TOKEN = 1 / 8192  # attention: at that length, reading costs about twice as much


@dataclass(frozen=True, slots=True)
class Plan:
    """Lengths in tokens, doubling; `depths` facts in each text; so many texts of each length."""

    min_length: int = 512
    max_length: int = 8192
    depths: int = 10
    trials: int = 3

    def __post_init__(self) -> None:
        for name in ("depths", "trials"):
            check_at_least_1(name, getattr(self, name))
        if not 2 <= self.depths <= MOST_DEPTHS:
            raise InputError(f"depths is {self.depths}; it must be from 2 to {MOST_DEPTHS}")
        least = LEAST_TOKENS + 24 * self.depths
        if self.min_length < least:
            raise InputError(
                f"min_length is {self.min_length}; with {self.depths} facts in a text it must be "
                f"at least {least}"
            )
        if self.max_length < self.min_length:
            raise InputError(
                f"max_length is {self.max_length}, which is below min_length {self.min_length}"
            )

    @property
    def lengths(self) -> list[int]:
        """From the least to the most, doubling; the most is always one of them."""
        found = [self.min_length]
        while 2 * found[-1] < self.max_length:
            found.append(2 * found[-1])
        return found if found[-1] == self.max_length else [*found, self.max_length]

    @property
    def places(self) -> list[float]:
        """Where the facts stand, from 0 to 1."""
        return [i / (self.depths - 1) for i in range(self.depths)]

    @property
    def total_tokens(self) -> int:
        """What the model reads: each text once, however many questions are asked about it."""
        return self.trials * sum(self.lengths)


@dataclass(frozen=True, slots=True)
class Row:
    """One length: for each depth, how many of the questions were answered rightly."""

    length: int
    right: tuple[int, ...]
    trials: int
    seconds: float

    @property
    def accuracy(self) -> float:
        """Over all depths."""
        return sum(self.right) / (self.trials * len(self.right))

    @property
    def shares(self) -> list[float]:
        """For each depth."""
        return [n / self.trials for n in self.right]


@dataclass(frozen=True, slots=True)
class Report:
    """What was measured of which model. `share` is of the accuracy at the shortest length."""

    model: str
    plan: Plan
    rows: tuple[Row, ...]
    share: float = KEEP_SHARE

    @property
    def limit_tokens(self) -> int | None:
        """The largest length up to which accuracy stays within `share` of the shortest one's.

        None where not even the shortest text is good for `LEAST_ACCURACY`.
        """
        shortest = self.rows[0].accuracy
        if shortest < LEAST_ACCURACY:
            return None
        limit = self.rows[0].length
        for row in self.rows:
            if row.accuracy < self.share * shortest - 1e-9:
                break
            limit = row.length
        return limit

    @property
    def n_questions(self) -> int:
        """Asked at each length."""
        return self.plan.trials * self.plan.depths

    def as_dict(self) -> dict[str, Json]:
        """For machines."""
        return {
            "model": self.model,
            "limit_tokens": self.limit_tokens,
            "share": self.share,
            "questions_per_length": self.n_questions,
            "depths": [round(place, 3) for place in self.plan.places],
            "lengths": [
                {
                    "tokens": row.length,
                    "accuracy": round(row.accuracy, 4),
                    "by_depth": [round(share, 4) for share in row.shares],
                    "seconds": round(row.seconds, 1),
                }
                for row in self.rows
            ],
        }


def measure(
    backend: Backend,
    plan: Plan,
    *,
    share: float = KEEP_SHARE,
    tell: Callable[[str], None] = lambda text: None,
) -> Report:
    """Ask everything. `tell` is given the time that it will take, then each length as it is done.

    Facts of one form stand at all depths of a text at once, each the other ones' distractor (the
    multi-key task of RULER, Hsieh et al. 2024, arXiv 2404.06654), so a text is read once for all
    depths. The answer is scored among the numbers of the text. Raises `CapabilityMissing` for a
    backend that cannot score, `InputError` for lengths that it has no room for.
    """
    if not backend.capabilities.can_score:
        raise CapabilityMissing("context needs a backend that can score choices")
    if not 0 < share <= 1:
        raise InputError(f"share is {share}; it must be above 0, up to 1")
    room = backend.capabilities.context_tokens
    if plan.max_length > room:
        raise InputError(
            f"max_length is {plan.max_length}, and the model has room for {room} tokens",
            hint=f"--max-length {room}",
        )
    tell(_expectation(backend, plan))
    rows = []
    for length in plan.lengths:
        rows.append(_row(backend, plan, length))
        tell(f"{length} tokens: {rows[-1].accuracy:.0%} found, {rows[-1].seconds:.0f} s")
    return Report(backend.name, plan, tuple(rows), share)


def _row(backend: Backend, plan: Plan, length: int) -> Row:
    started = time.monotonic()
    right = [0] * plan.depths
    for trial in range(plan.trials):
        for i, is_right in enumerate(_answers(backend, length, plan.places, trial)):
            right[i] += is_right
    return Row(length, tuple(right), plan.trials, time.monotonic() - started)


def _answers(backend: Backend, length: int, places: Sequence[float], seed: int) -> list[bool]:
    """Whether each fact of one text was found, in order."""
    text = document(length, places, seed, backend.count_tokens)
    requests = [text.request(fact) for fact in text.facts]
    handles = [backend.submit(request) for request in requests]
    found = []
    for handle, fact in zip(handles, text.facts, strict=True):
        scores = handle.result()
        best = max(range(len(scores.choices)), key=lambda i: scores.logprobs[i])
        found.append(scores.choices[best] == fact.number)
    return found


def _expectation(backend: Backend, plan: Plan) -> str:
    """How long it will take, from the time that a short text takes now."""
    started = time.monotonic()
    _answers(backend, _WARM_TOKENS, (0.0, 1.0), -1)
    per_token = (time.monotonic() - started) / _WARM_TOKENS
    weighted = sum(length * (1 + length * _SLOWER_PER_TOKEN) for length in plan.lengths)
    minutes = plan.trials * weighted * per_token / 60
    about = f"{minutes:.0f} minutes" if minutes >= 1.5 else f"{max(1, 60 * minutes):.0f} seconds"
    return (
        f"{plan.total_tokens:,} tokens to read in {plan.trials * len(plan.lengths)} texts: "
        f"about {about}"
    )
