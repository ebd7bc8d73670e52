"""Which rows are trained on, which choose the epoch, and which are held back for the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vedette.errors import InputError

LEAST_TEXTS = 20
VALIDATION = 0.1
"""Share of the rows that are not held back which choose the best epoch."""


@dataclass(frozen=True, slots=True)
class Split:
    """Numbers of rows, from 0 on."""

    training: tuple[int, ...]
    validation: tuple[int, ...]
    held_back: tuple[int, ...]


def split_rows(texts: Sequence[str], hold_back: float) -> Split:
    """Cut rows, which stand in an order of chance, by their texts.

    The same text is never on two sides, so that nothing is asked that was trained on. At least the
    share `hold_back` is held back. Raises `InputError` for a share that is none, and for too few
    different texts.
    """
    if not 0 < hold_back < 1:
        raise InputError(f"hold-back is {hold_back}; it must be between 0 and 1, such as 0.2")
    rows: dict[str, list[int]] = {}
    for number, text in enumerate(texts):
        rows.setdefault(text, []).append(number)
    if len(rows) < LEAST_TEXTS:
        raise InputError(
            f"there are {len(rows)} different texts; {LEAST_TEXTS} are the least, "
            "and some hundred are sensible"
        )
    groups = list(rows.values())
    held_back = _taken(groups, hold_back * len(texts))
    rest = len(texts) - len(held_back)
    validation = _taken(groups, VALIDATION * rest)
    training = _taken(groups, rest)
    if not training:
        raise InputError(f"hold-back is {hold_back}; that leaves no row to train on")
    return Split(training, validation, held_back)


def _taken(groups: list[list[int]], least: float) -> tuple[int, ...]:
    """Take groups off the front until there are so many rows, or no more groups."""
    taken: list[int] = []
    while groups and len(taken) < least:
        taken += groups.pop(0)
    return tuple(taken)
