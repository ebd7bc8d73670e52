"""A file of requests answered without a server, by the same routes."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from vedette.backends.base import Backend
from vedette.batch.inputs import unreadable
from vedette.batch.interrupt import Interrupt
from vedette.batch.journal import Journal
from vedette.batch.outputs import check_output, has_content, open_output
from vedette.batch.progress import Progress, Snapshot
from vedette.errors import FileError
from vedette.types import Json

from .adapters import identity_of
from .app import create_app
from .batch_lines import count_lines, read_lines, result_of
from .batch_work import Work
from .behind import Behind
from .inside import Inside
from .options import ServeOptions

REPORT_EVERY_S = 0.5
NOT_ASKED = ("not_asked", "the line was not asked")  # it came into the file after it was read


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a run ended: lines of the file, those answered, those that ended in an error."""

    total: int
    completed: int
    failed: int
    interrupted: bool


def check_files(source: Path, out: str, *, fresh: bool) -> None:
    """Find what is wrong with the files before a model is loaded. Raises `FileError`."""
    try:
        n_lines = count_lines(source)
    except OSError as error:
        raise unreadable(str(source), error) from error
    if not n_lines:
        raise FileError(
            f"the input file {source} has no lines",
            hint='a line is {"custom_id", "method", "url", "body"}',
        )
    check_output(out)
    if os.path.exists(out) and os.path.samefile(out, source):
        raise FileError(f"{out} is both input and output", hint="choose another --out")
    if has_content(out) and not os.path.exists(journal_of(out)) and not fresh:
        raise FileError(
            f"{out} has content already, and no journal says that it is this run's",
            hint="choose another --out, or write it anew with --fresh",
        )


def journal_of(out: str) -> str:
    """Where the answers are until all of them are there, and after that for the next run."""
    return f"{out}.journal"


def run_file(
    backend: Backend,
    options: ServeOptions,
    source: Path,
    out: str,
    progress: Progress,
    *,
    fresh: bool = False,
    retry_failed: bool = False,
) -> Ending:
    """Answer the lines of `source` and write all results to `out`, in order.

    The same again goes on where it was ended. Ctrl-C or SIGTERM ends it early: then nothing is
    written to `out`. Raises `FileError`, `DiskFull`, and `JournalMismatch` for a journal of another
    model.
    """
    known = identity_of(backend, options.personas)
    identity: dict[str, Json] = {"run_batch": options.model, "backend": known}
    with Journal.open(journal_of(out), identity, fresh=fresh) as journal:
        if retry_failed:
            journal.forget_errors()
        total = count_lines(source)
        work = Work(
            read_lines(source),
            journal,
            Inside(create_app(backend, options)),
            Behind.of(backend),
        )
        interrupted = asyncio.run(_answered(work, total, progress))
        if not interrupted:
            with closing(open_output(out, fresh=fresh)) as output:
                for line in read_lines(source):
                    output.put(result_of(line, journal, NOT_ASKED)[1])
                output.finish()
    counts = work.counts
    return Ending(
        total=total, completed=counts.completed, failed=counts.failed, interrupted=interrupted
    )


async def _answered(work: Work, total: int, progress: Progress) -> bool:
    """Whether the run was interrupted."""
    loop = asyncio.get_running_loop()
    telling = asyncio.create_task(_tell(work, total, progress))

    def stop() -> None:
        loop.call_soon_threadsafe(work.stop)

    try:
        with Interrupt(stop) as interrupt:
            await work.run()
    finally:
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)
        progress.close()
    return interrupt.requested


async def _tell(work: Work, total: int, progress: Progress) -> None:
    began_s = time.monotonic()
    try:
        while True:
            await asyncio.sleep(REPORT_EVERY_S)
            progress.update(_snapshot(work, total, time.monotonic() - began_s))
    finally:
        progress.update(_snapshot(work, total, time.monotonic() - began_s))


def _snapshot(work: Work, total: int, wall_s: float) -> Snapshot:
    done = work.counts.completed + work.counts.failed
    pace = work.n_asked / wall_s if wall_s else 0.0
    return Snapshot(
        done=done,
        total=total,
        errors=work.counts.failed,
        items_per_s=pace,
        eta_s=(total - done) / pace if pace else None,
    )
