"""Duplicates among the rows of files: found by rules, and by a model where rules cannot tell."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Literal

from vedette.errors import FileError, InputError
from vedette.tasks.dedupe import Clusters, Finder, Matching, Normalise, amount_of
from vedette.types import Answer, Item, Json, Usage

from .dedupe_summary import DedupeSummary
from .job import check, journal_path
from .kept_rows import KeptRows
from .outputs import Output, has_content, open_output
from .pairs import Judged, PairCheck, judge
from .progress import NoProgress, Progress, Snapshot
from .record_text import compared, shown
from .results import body_of, line_of
from .rows import BadRow, Row
from .source import Source

CHUNK_ROWS = 4096  # rows whose hashes are taken together, by numpy

AMOUNT_ALONE = "an amount is a field of records: name the fields to compare too"

Keep = Literal["all", "representatives"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupeJob:
    """Which rows of a source say the same.

    Rows are compared by their text, or by `fields`; then the number in the field `amount` can count
    too. `keep` all writes a result line for each row;
    `representatives` writes only the rows that stand for a cluster, as they came. `ask` has grey
    pairs judged by a model. `fresh` writes an output anew that has content already.
    """

    source: Source
    matching: Matching = field(default_factory=Matching)
    normalise: Normalise = field(default_factory=Normalise)
    fields: tuple[str, ...] = ()
    amount: str | None = None
    keep: Keep = "all"
    out: str = "-"
    fresh: bool = False
    ask: PairCheck | None = None

    def __post_init__(self) -> None:
        if (self.ask is None) != (self.matching.grey_from is None):
            raise InputError("a grey band and a model to judge it go together")
        if self.amount is not None and not self.fields:
            raise InputError(AMOUNT_ALONE)

    @property
    def columns(self) -> tuple[str, ...]:
        """All fields that rows are compared by."""
        return self.fields if self.amount is None else (*self.fields, self.amount)

    @property
    def shown_fields(self) -> tuple[str, ...]:
        """The fields that the model is shown; none for rows that are texts."""
        return tuple(dict.fromkeys(self.columns)) if self.fields else ()

    @property
    def whole_source(self) -> Source:
        """The source, giving what the job needs of each row."""
        return replace(
            self.source,
            columns=self.columns,
            needs_text=not self.fields,
            needs_columns=False,
            whole_rows=self.keep == "representatives",
        )


def run_dedupe(job: DedupeJob, progress: Callable[[], Progress] = NoProgress) -> DedupeSummary:
    """Read the rows, cluster them, have grey pairs judged, write. Nothing is written before.

    The model's answers are in a journal beside the output, so the same job again asks only what
    is not answered yet. `progress` is opened twice: for the rows, and for the pairs. Raises
    `FileError` and `InputError` as `run` does.
    """
    began_s = time.monotonic()
    source = job.whole_source
    journal = journal_path(job.out, job.ask.journal) if job.ask else None
    check(source, job.out, journal, job.ask is not None and job.ask.retry_failed)
    if has_content(job.out) and not job.fresh:
        raise FileError(
            f"{job.out} has content already",
            hint="choose another --out, or write it anew with --fresh",
        )
    with ExitStack() as stack:
        reading = stack.enter_context(closing(_Reading(job, source)))
        with closing(progress()) as shown_rows:
            reading.read(shown_rows)
        clusters = reading.finder.clusters()
        judged = Judged()
        if job.ask is not None and clusters.grey:
            judged = judge(clusters.grey, reading.records, job.ask, journal, job.fresh, progress)
            clusters = clusters.merged(judged.verdicts)
        output = stack.enter_context(closing(open_output(job.out, fresh=job.fresh)))
        if job.keep == "representatives":
            reading.kept.write(
                output, (row for row, place in enumerate(clusters.places) if place.how is None)
            )
        else:
            for line in _lines(reading, clusters, judged):
                output.put(line)
        output.finish()
        return _summary(job, reading, clusters, judged, output, time.monotonic() - began_s)


class _Reading:
    """What is kept of the rows that were read."""

    def __init__(self, job: DedupeJob, source: Source) -> None:
        self.finder = Finder(job.matching)
        self.kept = KeptRows(source)
        self.ids: list[str] = []
        """Of each row that can be compared, in order."""
        self.records: dict[int, str] = {}
        """What the model is shown of a row; only rows that may come to be judged."""
        self.blank: set[int] = set()
        """Rows with nothing to compare."""
        self.bad: dict[int, BadRow] = {}
        """Rows that cannot be read, by their place among all lines."""
        self.unseen = set(job.columns)
        """Fields that no row has had."""
        self.without_amount = 0
        """Rows in which the field of the amount is no number over 0."""
        self._job = job
        self._source = source

    @property
    def n_lines(self) -> int:
        """All rows, the bad ones included."""
        return len(self.ids) + len(self.bad)

    def read(self, progress: Progress) -> None:
        """Take all rows."""
        began_s, total = time.monotonic(), self._source.total()
        rows = iter(self._source.rows())
        while chunk := list(islice(rows, CHUNK_ROWS)):
            self._take(chunk)
            pace = self.n_lines / max(1e-9, time.monotonic() - began_s)
            left = None if total is None else (total - self.n_lines) / pace
            progress.update(
                Snapshot(
                    done=self.n_lines,
                    total=total,
                    errors=len(self.bad),
                    items_per_s=pace,
                    eta_s=left,
                )
            )

    def close(self) -> None:
        """Let go of the rows on disk."""
        self.kept.close()

    def _take(self, chunk: list[Row]) -> None:
        job = self._job
        items: list[Item] = []
        for row in chunk:
            if isinstance(row, BadRow):
                self.bad[self.n_lines + len(items)] = row
            else:
                self.unseen.difference_update(row.columns)
                items.append(row)
        texts = [compared(item, job.fields, job.normalise) for item in items]
        amounts: list[float | None] = []
        if job.amount is not None:
            amounts = [amount_of(item.columns.get(job.amount)) for item in items]
            self.without_amount += amounts.count(None)
        new = self.finder.add(texts, amounts)
        for item, text, is_new in zip(items, texts, new, strict=True):
            if not text.strip():
                self.blank.add(len(self.ids))
            if is_new and job.ask is not None:
                self.records[len(self.ids)] = shown(item, job.shown_fields)
            if job.keep == "representatives":
                self.kept.add(item if is_new else None)
            self.ids.append(item.id)


def _lines(reading: _Reading, clusters: Clusters, judged: Judged) -> Iterator[bytes]:
    """The result line of each row, in input order. Clusters are numbered as they appear."""
    numbers: dict[int, int] = {}
    row = 0
    for line in range(reading.n_lines):
        if line in reading.bad:
            bad = reading.bad[line]
            yield line_of(bad.id, body_of(bad.error))
            continue
        place = clusters.places[row]
        value: dict[str, Json] = {
            "cluster": numbers.setdefault(place.representative, len(numbers) + 1),
            "representative": reading.ids[place.representative],
            "how": place.how,
            "score": place.score,
        }
        if place.via is not None:
            value["via"] = reading.ids[place.via]
        extra: dict[str, Json] = {"empty": True} if row in reading.blank else {}
        answer = Answer(value=value, usage=judged.usage.get(row, Usage()), extra=extra)
        yield line_of(reading.ids[row], body_of(answer))
        row += 1


def _summary(
    job: DedupeJob,
    reading: _Reading,
    clusters: Clusters,
    judged: Judged,
    output: Output,
    wall_s: float,
) -> DedupeSummary:
    notes = [*output.notes, *judged.notes]
    notes += [f"no row has the field {name!r}" for name in sorted(reading.unseen)]
    if reading.without_amount:
        notes.append(
            f"{reading.without_amount:,} rows have no number over 0 in {job.amount!r}: compared "
            "without it"
        )
    if clusters.crowded:
        notes.append(
            f"{clusters.crowded:,} groups of rows that share a phrase were too large to compare "
            "each with each: duplicates in them may have been missed"
        )
    if reading.bad and job.keep == "representatives":
        first = next(iter(reading.bad.values())).error
        notes.append(f"rows that cannot be read are left out; the first: {first}")
    return DedupeSummary(
        rows=reading.n_lines,
        representatives=clusters.count(None),
        exact=clusters.count("exact"),
        near=clusters.count("near"),
        model=clusters.count("model"),
        errors=len(reading.bad),
        grey_pairs=len(clusters.grey),
        asked=judged.asked,
        unanswered=judged.unanswered,
        usage=judged.total_usage,
        wall_s=wall_s,
        out=job.out,
        notes=tuple(notes),
    )
