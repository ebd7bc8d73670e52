"""`vedette.dedupe`: rows in memory that say the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Literal

from vedette.backends.base import Backend
from vedette.batch.dedupe import AMOUNT_ALONE
from vedette.batch.pairs import Judged, PairCheck, judge
from vedette.batch.record_text import compared, shown
from vedette.errors import InputError
from vedette.tasks.dedupe import Clusters, Finder, Matching, Normalise, amount_of
from vedette.tasks.dedupe.shingles import Shingles
from vedette.tasks.same import Same
from vedette.types import Item, Json, Usage

from .engine import Engine

CHUNK_ROWS = 4096


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Where one row belongs. Rows are numbers from 0, in the order given.

    `representative` is the first row of its cluster, `how` None for that row itself, else exact,
    near or model. `score` is the similarity to the representative, or the model's probability;
    `via` the row through which a row came to it, where that is another one. `usage` is what the
    model read to judge the pairs of which it is the later row.
    """

    representative: int
    how: Literal["exact", "near", "model"] | None
    score: float
    via: int | None = None
    usage: Usage = field(default=Usage(), compare=False)


def dedupe(
    rows: Iterable[str | Mapping[str, Json]],
    *,
    fields: Sequence[str] = (),
    amount: str | None = None,
    by: Literal["shingles", "words"] = "shingles",
    threshold: float | None = None,
    shingles: str = "chars:3",
    normalise: str = "nfkc,case,space",
    model_check: bool = False,
    grey_from: float | None = None,
    what: str = "thing",
    model: str | None = None,
    backend: Backend | None = None,
) -> list[Duplicate]:
    """Which rows say the same, one answer for each row in order.

    `rows` are texts, or records that are compared by `fields`, and by the number in the field
    `amount`, if it is named: the further it differs, the less alike they are. Everything else is as
    on the command line: without `model_check` no model is loaded; with it, pairs from `grey_from`
    up to the threshold are judged by `backend`, or by `model`, which is then loaded for this call
    where there is such a pair. Raises `InputError` for rows and numbers that cannot be meant, and
    for a pair that could not be judged.
    """
    matching = Matching(by=by, shingles=Shingles.of(shingles), threshold=threshold)
    if model_check:
        matching = matching.with_grey(grey_from)
    elif grey_from is not None or model is not None or backend is not None:
        raise InputError("a model or its band is given, but model_check is not")
    if amount is not None and not fields:
        raise InputError(AMOUNT_ALONE)
    steps, names = Normalise.of(normalise), tuple(fields)
    seen = names if amount is None else tuple(dict.fromkeys((*names, amount)))
    finder, records = Finder(matching), dict[int, str]()
    items = (_item(number, row, names) for number, row in enumerate(rows))
    while chunk := list(islice(items, CHUNK_ROWS)):
        texts = [compared(item, names, steps) for item in chunk]
        amounts = [amount_of(item.columns.get(amount)) for item in chunk] if amount else []
        is_new = finder.add(texts, amounts)
        if model_check:
            found = (item for item, new in zip(chunk, is_new, strict=True) if new)
            records.update((int(item.id), shown(item, seen)) for item in found)
    clusters, usage = finder.clusters(), dict[int, Usage]()
    if clusters.grey:
        opened = partial(_opened, model, backend)
        judged = _judged(clusters, records, PairCheck(task=Same(what=what), backend=opened))
        clusters, usage = clusters.merged(judged.verdicts), dict(judged.usage)
    return [
        Duplicate(place.representative, place.how, place.score, place.via, usage.get(row, Usage()))
        for row, place in enumerate(clusters.places)
    ]


@contextmanager
def _opened(model: str | None, backend: Backend | None) -> Iterator[Backend]:
    if backend is not None:
        yield backend
        return
    with Engine(model) as engine:
        yield engine.backend


def _item(number: int, row: str | Mapping[str, Json], fields: tuple[str, ...]) -> Item:
    if isinstance(row, str):
        if fields:
            raise InputError(f"row {number} is a text, and fields are to be compared")
        return Item(id=str(number), text=row)
    if not fields:
        raise InputError(f"row {number} is a record: name the fields to compare")
    if not any(name in row for name in fields):
        raise InputError(f"row {number} has none of the fields {', '.join(map(repr, fields))}")
    return Item(id=str(number), text="", columns=row)


def _judged(clusters: Clusters, records: Mapping[int, str], check: PairCheck) -> Judged:
    judged = judge(clusters.grey, records, check)
    if judged.unanswered:
        raise InputError(f"{judged.unanswered} pairs have no answer: {judged.notes[-1]}")
    return judged
