"""Rows that know their right answer."""

from __future__ import annotations

import random
from collections.abc import Sequence

from vedette.batch.inputs import resolve
from vedette.batch.rows import BadRow
from vedette.batch.source import Source
from vedette.errors import InputError
from vedette.types import Item


def labelled_rows(source: Source) -> list[Item]:
    """All rows of a source, with their right answers in its columns.

    Raises `InputError` for a row that cannot be read, has no text or no right answer, and for
    none at all.
    """
    nothing = InputError(f"there are no rows in {', '.join(source.paths)}")
    # Before the form of the files is looked at: without a row, what is wrong is not the form.
    if all(file.is_empty for file in resolve(source.paths, source.format)):
        raise nothing
    items = []
    for row in source.rows():
        if isinstance(row, BadRow):
            raise InputError(f"a labelled row cannot be read: {row.error.message}")
        if not row.text.strip():
            raise InputError(f"row {row.id} has no text", hint="take it out")
        items.append(row)
    if not items:
        raise nothing
    return items


def labels_of(items: Sequence[Item], column: str) -> list[str]:
    """The right label of each row. Raises `InputError` for one that is no string."""
    labels = []
    for item in items:
        label = item.columns[column]
        if not isinstance(label, str) or not label.strip():
            raise InputError(f"row {item.id}: its {column} is {label!r}, not a label")
        labels.append(label)
    return labels


def check_known(items: Sequence[Item], labels: Sequence[str], names: Sequence[str]) -> None:
    """Raise `InputError` for a right label that is not in the list."""
    known = set(names)
    for item, label in zip(items, labels, strict=True):
        if label not in known:
            raise InputError(
                f"row {item.id} has the label {label!r}, which is not in the label list",
                hint=f"the labels are {', '.join(names)}",
            )


def shuffled(items: Sequence[Item], seed: int) -> list[Item]:
    """The rows in an order of chance, always the same for a seed.

    Files are often sorted by label; a prior that is measured on the first rows of a job supposes
    a mixture.
    """
    mixed = list(items)
    random.Random(seed).shuffle(mixed)
    return mixed
