"""Rows that are read ahead, and in which order they are asked."""

from __future__ import annotations

from collections import deque

from vedette.types import Item

ROWS = 1024
CHARACTERS = 8_000_000
"""So much text is read ahead at most, but for the row that goes beyond it."""
SAME_CHARACTERS = 100
"""Texts that begin with so many same characters are asked one after the other."""


class Ahead:
    """Rows by key. They are taken in rounds: up to `n_rows` are added, then all are taken.

    Where beginnings are the same, rows are neighbours: an engine computes what its live sequences
    have in common once. Such groups come in the order of their first rows, so that where nothing
    is in common the order is that of the input.
    """

    def __init__(self, n_rows: int = ROWS) -> None:
        self._n_rows = n_rows
        self._added: dict[bytes, Item] = {}
        self._n_characters = 0
        self._taking: deque[tuple[bytes, Item]] = deque()

    def __len__(self) -> int:
        return len(self._added)

    def __contains__(self, key: bytes) -> bool:
        return key in self._added

    @property
    def wants_more(self) -> bool:
        """Whether rows may be added to this round."""
        is_full = len(self._added) >= self._n_rows or self._n_characters >= CHARACTERS
        return not (is_full or self._taking)

    def add(self, key: bytes, item: Item) -> None:
        """Add a row whose key is not there."""
        self._added[key] = item
        self._n_characters += len(item.text)

    def take(self) -> tuple[bytes, Item]:
        """The next row to be asked; no more are added before the last is taken."""
        if not self._taking:
            self._taking = deque(_neighbours(self._added))
        key, item = self._taking.popleft()
        del self._added[key]
        self._n_characters -= len(item.text)
        return key, item


def _neighbours(rows: dict[bytes, Item]) -> list[tuple[bytes, Item]]:
    groups: dict[str | bytes, list[tuple[bytes, Item]]] = {}
    for key, item in rows.items():
        begins = item.text[:SAME_CHARACTERS]
        # A shorter text is a group of its own.
        group = begins if len(begins) == SAME_CHARACTERS else key
        groups.setdefault(group, []).append((key, item))
    return [row for group in groups.values() for row in sorted(group, key=lambda row: row[1].text)]
