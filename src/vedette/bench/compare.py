"""The arithmetic of a report: how fast, how valid, how right, how much alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Protocol

from vedette.types import Item, Json

from .runs import Reply

WHOLE = "value"  # what the only field of an answer is called that is no object


class Validator(Protocol):
    """Says whether a value fits a schema."""

    def is_valid(self, instance: Json) -> bool:
        """Whether it fits."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Least, median and most of some repeats."""

    min: float
    median: float
    max: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """How many of `rows` are equal as a whole (0 to 1), and field by field."""

    rows: int
    whole: float
    fields: dict[str, float]


def spread(values: Sequence[float]) -> Spread:
    """The spread of at least one value."""
    return Spread(min=min(values), median=median(values), max=max(values))


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """How many times as fast, repeat by repeat: neighbours in time are compared."""
    return spread([mine / other for mine, other in zip(ours, theirs, strict=True)])


def valid_share(replies: Sequence[Reply], validator: Validator) -> float:
    """Share of the items that have an answer which fits the schema."""
    valid = sum(not reply.error and validator.is_valid(reply.value) for reply in replies)
    return valid / len(replies)


def agreement(ours: Sequence[Reply], theirs: Sequence[Reply]) -> Shares | None:
    """How often two sides say the same, over items that both answered; None if there is none."""
    both = [
        (mine.value, other.value)
        for mine, other in zip(ours, theirs, strict=True)
        if not mine.error and not other.error
    ]
    return _shares(both) if both else None


def accuracy(
    items: Sequence[Item], replies: Sequence[Reply], expected: Mapping[str, Json]
) -> Shares | None:
    """How often the answer is the expected one; an item without an answer is wrong.

    Items that nothing is expected of do not count; None if all are such.
    """
    judged = [
        (None if reply.error else reply.value, expected[item.id])
        for item, reply in zip(items, replies, strict=True)
        if item.id in expected
    ]
    return _shares(judged) if judged else None


def _shares(pairs: Sequence[tuple[Json, Json]]) -> Shares:
    """The right-hand values say which fields there are."""
    split = [(_fields(left), _fields(right)) for left, right in pairs]
    names = dict.fromkeys(name for _, right in split for name in right)
    fields = {}
    for name in names:
        equal = [_same(left, right, name) for left, right in split if name in right]
        fields[name] = sum(equal) / len(equal)
    whole = sum(_identical(left, right) for left, right in pairs) / len(pairs)
    return Shares(rows=len(pairs), whole=whole, fields=fields)


def _same(left: dict[str, Json], right: dict[str, Json], name: str) -> bool:
    return name in left and _identical(left[name], right[name])


def _identical(left: Json, right: Json) -> bool:
    """Equal as JSON: 1 is 1.0, but true is not 1, at any depth."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_identical, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left, right, name) for name in right)
    return left == right


def _fields(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {WHOLE: value}
