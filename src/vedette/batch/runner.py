"""Runs a job: rows in, result lines out, in input order, resumable at any moment."""

from __future__ import annotations

import os
import time
from collections import deque
from contextlib import ExitStack, closing
from typing import Any

import orjson

from vedette.errors import DiskFull, FileError, InputError
from vedette.tasks.base import Accountable, CutsTexts, Embeds, Learner, ShowsSchema, Task
from vedette.types import Item, Json

from .ahead import Ahead
from .drive import Driver
from .feed import BackFeed, Feed, FileFeed, StreamFeed
from .interrupt import Interrupt
from .job import Job, check, journal_path
from .journal import FINDING_KEY, Journal
from .kept_places import keeping_places
from .outputs import Output, has_content, open_output
from .parts import KeptParts
from .placing import place, placing
from .progress import NoProgress, Progress, Snapshot
from .results import (
    Outcome,
    about_row,
    body_of,
    content_sha256,
    is_error,
    job_hash,
    job_identity,
    line_of,
    row_key,
)
from .rows import BadRow, Row
from .study import POLL_S, Head, learn
from .summary import Summary

ROWS_AHEAD = 4096
"""Rows may be answered this far ahead of the first unanswered one; each waits as a key only."""

PICTURES_AHEAD = 4
"""Pictures may be read this far ahead of the rows that are being answered."""

READ_WITHIN_S = 60.0  # how long an interrupted job waits for the picture that is being read
STOP_WITHIN_S = 10.0  # how long an interrupted job waits for its cancelled requests to end
REPORT_EVERY_S = 0.1


def run(job: Job, progress: Progress | None = None) -> Summary:
    """Answer every row of the job and write its result line.

    The same job again goes on where it stopped. Ctrl-C or SIGTERM ends it early with a summary
    that says so. Raises `FileError` (missing or unwritable files, a damaged journal), `DiskFull`,
    `InputError` (options that cannot be met), `JournalMismatch`, and whatever a task raises that
    is no `InputError` or `RequestError`; what was answered until then is kept.
    """
    check(job.source, job.out, job.journal, job.retry_failed)
    if job.workers is not None and job.workers < 1:
        raise InputError(f"--workers is {job.workers}; it must be at least 1, or auto")
    identity = job_identity(job.task, job.backend, job.source.reading)
    path = journal_path(job.out, job.journal)
    if has_content(job.out) and not (path and os.path.exists(path)) and not job.fresh:
        raise FileError(
            f"{job.out} has content already, and no journal says that it is this job's",
            hint="choose another --out, or write it anew with --fresh",
        )
    with ExitStack() as stack:
        journal = stack.enter_context(
            Journal.open(path, identity, fresh=job.fresh) if path else Journal.temporary(identity)
        )
        output = stack.enter_context(closing(open_output(job.out, fresh=job.fresh)))
        parts_path = f"{path}.parts"
        backend = stack.enter_context(keeping_places(job.task, job.backend))
        keeps = path is not None and isinstance(job.task, CutsTexts) and job.task.keeps_parts
        if keeps:
            parts = stack.enter_context(Journal.open(parts_path, identity, fresh=job.fresh))
            backend = KeptParts(backend, parts)
        driver: Driver[bytes] = stack.enter_context(
            Driver(job.task, backend, retry_after_s=job.retry_after_s)
        )
        if job.into is not None:
            stack.enter_context(closing(job.into))
        shown = stack.enter_context(closing(progress or NoProgress()))
        interrupt = stack.enter_context(Interrupt(driver.wake))
        runner = _Runner(job, journal, output, driver, shown, interrupt)
        runner.run()
        if keeps and not interrupt.requested:
            os.unlink(parts_path)  # every row has its answer
        if journal.torn_bytes:
            note = f"{journal.path}: dropped the torn last line ({journal.torn_bytes:,} bytes)"
            output.notes.insert(0, note)
        if job.into is not None:
            output.notes += job.into.notes
        return runner.summary(path, tuple(output.notes))


class _Runner:
    """The state of one run: what has been read and not yet written, and the counts."""

    def __init__(
        self,
        job: Job,
        journal: Journal,
        output: Output,
        driver: Driver[bytes],
        progress: Progress,
        interrupt: Interrupt,
    ) -> None:
        self._job = job
        self._journal = journal
        self._output = output
        self._driver = driver
        self._progress = progress
        self._interrupt = interrupt
        self._workers = job.workers or job.backend.width
        self._hash = job_hash(job_identity(job.task, job.backend, job.source.reading))
        self._retried = journal.forget_errors() if job.retry_failed else 0
        # Rows read and not written: the id, the content's hash if somebody wants it, and the
        # row's key or a bad row's result.
        self._window: deque[tuple[str, str, bytes | None, bytes]] = deque()
        self._about: dict[bytes, dict[str, Json]] = {}  # of rows that are being asked
        self._ahead = Ahead()
        self._asking: set[bytes] = set()
        self._total: int | None = None
        self._schema_tokens = 0
        self._counts_before = dict(job.backend.counts)
        task = job.task
        self._accounts = task.accounts(job.backend) if isinstance(task, Accountable) else None
        self._accounted: set[bytes] = set()
        self._items = self._errors = self._asked = self._done_again = 0
        self._from_journal = self._duplicates = self._bad_rows = 0
        self._began_s = time.monotonic()
        self._reported_s = 0.0

    def run(self) -> None:
        """Read, ask, settle and write until the rows are through or a signal comes."""
        self._total = self._job.source.total()
        self._schema_tokens = self._counted_schema()
        self._began_s = time.monotonic()
        with closing(self._feed()) as feed:
            try:
                self._work_through(self._studied(feed))
            except DiskFull:
                raise
            except Exception:
                self._settle(self._driver.take())
                self._write_ready()
                if self._job.into is not None:
                    self._job.into.finish()
                raise
        if self._interrupt.requested:
            self._stop()
        else:
            self._output.finish()
        if self._job.into is not None:
            self._job.into.finish()
        self._report(always=True)

    def summary(self, journal: str | None, notes: tuple[str, ...]) -> Summary:
        """What was done."""
        return Summary(
            items=self._items,
            ok=self._items - self._errors,
            errors=self._errors,
            asked=self._asked - len(self._asking),
            done_again=self._done_again,
            retried=self._retried,
            retried_requests=self._driver.retried_requests,
            from_journal=self._from_journal,
            duplicates=self._duplicates,
            bad_rows=self._bad_rows,
            usage=self._driver.usage,
            backend_counts=self._backend_counts(),
            schema_tokens=self._schema_tokens,
            wall_s=time.monotonic() - self._began_s,
            total=self._total,
            interrupted=self._interrupt.requested,
            out=self._job.out,
            journal=journal,
            notes=(*notes, *(self._accounts.notes() if self._accounts else ())),
            accounts=self._accounts,
        )

    def _backend_counts(self) -> dict[str, int]:
        before, now = self._counts_before, self._job.backend.counts
        return {name: count - before.get(name, 0) for name, count in now.items()}

    def _counted_schema(self) -> int:
        task = self._job.task
        shown = task.schema_prompt if isinstance(task, ShowsSchema) else ""
        return self._job.backend.count_tokens(shown) if shown else 0

    def _work_through(self, feed: Feed) -> None:
        while not self._interrupt.requested:
            feed_is_dry = self._take_rows(feed)
            self._write_ready()
            if self._driver.in_flight or (feed_is_dry and not feed.ended):
                self._settle(self._driver.wait())
            elif feed.ended and not self._window:
                return

    def _studied(self, feed: Feed) -> Feed:
        """Let the task look at the first rows, unless an earlier run of the job has done so."""
        task = self._job.task
        if isinstance(task, Embeds):
            self._place(task)
            return feed
        n_texts = task.study_rows(self._job.backend) if isinstance(task, Learner) else 0
        if not isinstance(task, Learner) or not n_texts:
            return feed
        if FINDING_KEY in self._journal:
            finding = orjson.loads(self._journal.get(FINDING_KEY))
            self._go_on_with(task.knowing(finding, {}), task.told(finding))
            return feed
        head = Head(n_texts)
        while not (head.is_full or feed.ended or self._interrupt.requested):
            row = feed.poll()
            if row is not None:
                head.add(row)
            elif not feed.ended:
                self._driver.wait(POLL_S)
        if len(head.items) >= task.least_study_rows:
            self._learn(task, head.items)
        return BackFeed(head.rows, feed)

    def _place(self, task: Embeds) -> None:
        job = self._job
        driver: Driver[int] = Driver(placing(task), job.backend, retry_after_s=job.retry_after_s)
        placed = place(task, driver, job.backend, self._workers, lambda: self._interrupt.requested)
        self._count(driver)
        if placed is not None:
            self._driver.task = placed

    def _count(self, driver: Driver[Any]) -> None:
        """Add what another driver has asked."""
        self._driver.usage += driver.usage
        self._driver.retried_requests += driver.retried_requests

    def _learn(self, task: Learner, items: list[Item]) -> None:
        job = self._job
        driver: Driver[str] = Driver(
            task.study_task(), job.backend, retry_after_s=job.retry_after_s
        )
        learnt = learn(task, items, driver, self._workers, lambda: self._interrupt.requested)
        self._count(driver)
        if learnt is not None:
            finding, knowing = learnt
            self._journal.add(FINDING_KEY, orjson.dumps(finding))
            self._go_on_with(knowing, task.told(finding))

    def _go_on_with(self, task: Task, note: str) -> None:
        self._driver.task = task
        self._output.notes.append(note)

    def _feed(self) -> Feed:
        source = self._job.source
        if source.reading is not None:
            self._ahead = Ahead(n_rows=1)
            rows = source.rows(known=lambda item: row_key(self._hash, item) in self._journal)
            return StreamFeed(rows, self._driver.wake, ahead=PICTURES_AHEAD, finish_s=READ_WITHIN_S)
        if all(file.is_regular for file in source.check()):
            return FileFeed(source.rows())
        self._ahead = Ahead(n_rows=1)  # a row of a stream is asked as soon as it is there
        return StreamFeed(source.rows(), self._driver.wake)

    def _take_rows(self, feed: Feed) -> bool:
        """Take rows until enough are under way; whether the feed had no more to give for now."""
        while self._driver.in_flight < self._workers:
            is_dry = self._read_ahead(feed)
            if not self._ahead:
                return is_dry
            self._ask(*self._ahead.take())
        return False

    def _read_ahead(self, feed: Feed) -> bool:
        """Take in rows for as long as more are wanted; whether the feed had none for now."""
        while self._ahead.wants_more and len(self._window) < ROWS_AHEAD:
            row = feed.poll()
            if row is None:
                return True
            self._take(row)
        return False

    def _take(self, row: Row) -> None:
        """Give a row its place in the window; it is to be asked unless its answer comes anyway."""
        content = "" if self._job.into is None else content_sha256(row)
        if isinstance(row, BadRow):
            self._bad_rows += 1
            self._window.append((row.id, content, None, body_of(row.error, about_row(row))))
            return
        key = row_key(self._hash, row)
        self._window.append((row.id, content, key, b""))
        if self._journal.is_old(key):
            self._from_journal += 1
        elif key in self._journal or key in self._asking or key in self._ahead:
            self._duplicates += 1
        else:
            self._ahead.add(key, row)

    def _ask(self, key: bytes, item: Item) -> None:
        self._asked += 1
        self._done_again += self._journal.was_started(key)
        self._journal.start(key)
        self._asking.add(key)
        self._about[key] = about_row(item)
        self._driver.start(key, item)

    def _settle(self, over: list[tuple[bytes, Outcome]]) -> None:
        for key, outcome in over:
            self._journal.add(key, body_of(outcome, self._about.pop(key)))
            self._asking.discard(key)

    def _write_ready(self) -> None:
        """Write the lines at the head of the window whose results are there."""
        while self._window:
            row_id, content, key, body = self._window[0]
            if key is not None:
                if key not in self._journal:
                    break
                body = self._journal.get(key)
            if self._job.into is not None:  # first: what it has already may be put again
                self._job.into.put(row_id, content, body)
            self._output.put(line_of(row_id, body))
            self._window.popleft()
            self._items += 1
            self._errors += is_error(body)
            self._account(key, body)
        self._report()

    def _account(self, key: bytes | None, body: bytes) -> None:
        """Have the task count a line that is written; one of a resumed job comes from its journal.

        `key` is None for a row that could not be read.
        """
        if self._accounts is None:
            return
        self._accounts.add(orjson.loads(body), repeated=key in self._accounted)
        if key is not None:
            self._accounted.add(key)

    def _stop(self) -> None:
        """Cancel what is under way, keep what has its answer nevertheless."""
        self._driver.stop()
        deadline = time.monotonic() + STOP_WITHIN_S
        while self._driver.in_flight and (left := deadline - time.monotonic()) > 0:
            self._settle(self._driver.wait(left))
        self._write_ready()

    def _report(self, *, always: bool = False) -> None:
        now = time.monotonic()
        if not always and now - self._reported_s < REPORT_EVERY_S:
            return
        self._reported_s = now
        answered = self._asked - len(self._asking)
        pace = answered / (now - self._began_s) if answered else 0.0
        left = None if self._total is None or not pace else (self._total - self._items) / pace
        self._progress.update(
            Snapshot(
                done=self._items,
                total=self._total,
                errors=self._errors,
                items_per_s=pace,
                eta_s=left,
            )
        )
