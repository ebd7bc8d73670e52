"""Sees batches through: from validation to their results, over ends of the server and of others."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from vedette.batch.journal import Journal
from vedette.errors import DiskFull, FileError, InputError
from vedette.types import Json

from .batch_lines import AnyLine, Line, count_lines, read_lines, result_of
from .batch_record import Batch
from .batch_shelf import Shelf
from .batch_work import Work, is_set_within
from .facts import Facts
from .faults import told
from .file_store import FileStore, unkept
from .inside import Inside
from .problems import Refusal

MOST_UNFINISHED = 100
PAUSE_S = 30.0
"""How long a batch rests where the disk is full."""

_log = logging.getLogger(__name__)


class Batches:
    """The batches of one server, each with a task of its own while it is not over."""

    def __init__(self, store: FileStore, facts: Facts, inside: Inside) -> None:
        self._store = store
        self._facts = facts
        self._inside = inside
        self._shelf = Shelf(store.folder / "batches")
        self._works: dict[str, Work] = {}
        self._ends: dict[str, asyncio.Event] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = asyncio.Event()

    @asynccontextmanager
    async def running(self, _: Any) -> AsyncIterator[None]:
        """While this is open, batches are worked on; those that an earlier server left go on."""
        for batch in self._shelf.all():
            if not batch.is_over:
                self._begin(batch)
        try:
            yield
        finally:
            self._closing.set()
            for end in self._ends.values():
                end.set()
            await asyncio.gather(*self._tasks)

    def all(self) -> list[Batch]:
        """Every batch, the oldest first, as it is now."""
        return [self._now(batch) for batch in self._shelf.all()]

    def get(self, batch_id: str) -> Batch:
        """A batch as it is now. Raises `Refusal` (404)."""
        return self._now(self._shelf.get(batch_id))

    async def create(
        self, *, endpoint: str, input_file_id: str, window: str, metadata: dict[str, str] | None
    ) -> Batch:
        """A new batch, on disk and under way. Raises `Refusal`."""
        file = self._store.get(input_file_id)
        if file.purpose != "batch":
            raise Refusal(
                f"input_file_id: {file.id} has the purpose {file.purpose}, not batch",
                param="input_file_id",
            )
        if not self._inside.takes(endpoint):
            raise Refusal(
                f"endpoint: there is no POST {endpoint} that a batch could ask", param="endpoint"
            )
        if len(self._tasks) >= MOST_UNFINISHED:
            raise Refusal(
                f"{MOST_UNFINISHED} batches are not over yet, and more there cannot be",
                status=429,
                code="too_many_batches",
            )
        batch = Batch(
            endpoint=endpoint,
            input_file_id=file.id,
            completion_window=window,
            model=self._facts.model,
            identity=self._facts.identity,
            metadata=metadata,
        )
        self._store.hold(file.id, batch.id)
        try:
            await self._shelf.keep(batch)
        except FileError as error:
            self._store.release(file.id, batch.id)
            raise unkept("the batch", error) from error
        self._begin(batch)
        return batch

    async def cancel(self, batch_id: str) -> Batch:
        """End a batch early. Raises `Refusal`, as for one that is over."""
        batch = self.get(batch_id)
        if batch.is_over:
            raise Refusal(
                f"{batch.id} is {batch.status} and cannot be cancelled",
                code="batch_is_over",
                param="id",
            )
        if batch.status not in ("cancelling", "finalizing"):
            if batch.id in self._ends:  # else the server is about to end, and the next one sees it
                self._ends[batch.id].set()
            try:
                await self._shelf.put(batch.at("cancelling"))
            except FileError as error:
                raise unkept("the cancellation", error) from error
        return self.get(batch_id)

    def _now(self, batch: Batch) -> Batch:
        work = self._works.get(batch.id)
        if work is None:
            return batch
        return replace(batch, completed=work.counts.completed, failed=work.counts.failed)

    def _begin(self, batch: Batch) -> None:
        self._store.hold(batch.input_file_id, batch.id)
        self._ends[batch.id] = asyncio.Event()
        task = asyncio.create_task(self._see_through(batch.id))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _see_through(self, batch_id: str) -> None:
        """Until it is over or the server ends; nothing that goes wrong ends the server."""
        end = self._ends[batch_id]
        left_s = self._shelf.get(batch_id).expires_at - time.time()
        if left_s <= 0:  # the loop's alarm would ring after the first lines are asked
            end.set()
        alarm = asyncio.get_running_loop().call_later(max(0.0, left_s), end.set)
        try:
            while not self._closing.is_set() and not self._shelf.get(batch_id).is_over:
                await self._carry(batch_id, end)
        finally:
            alarm.cancel()
            del self._ends[batch_id]
            self._store.release(self._shelf.get(batch_id).input_file_id, batch_id)

    async def _carry(self, batch_id: str, end: asyncio.Event) -> None:
        """One try. A full disk is waited for, any other error is the batch's end."""
        try:
            await self._validate(batch_id)
            await self._answer(batch_id, end)
            await self._finish(batch_id)
        except DiskFull as error:
            _log.warning("%s rests: %s", batch_id, error)
            await is_set_within(self._closing, PAUSE_S)
        except (InputError, FileError, OSError, Refusal) as error:
            await self._fail(batch_id, "file_error", str(error))
        except Exception as error:
            _log.error("%s stumbled over a fault of vedette\n%s", batch_id, told(error))
            await self._fail(batch_id, "internal_error", "a fault of the server")

    async def _validate(self, batch_id: str) -> None:
        batch = self._shelf.get(batch_id)
        if batch.status != "validating":
            return
        total = await asyncio.to_thread(count_lines, self._input(batch))
        if not total:
            await self._fail(batch_id, "empty_file", "the input file has no lines")
            return
        batch = replace(self._shelf.get(batch_id), total=total)
        is_wanted = batch.status == "validating"  # it may have been cancelled meanwhile
        await self._shelf.put(batch.at("in_progress") if is_wanted else batch)

    async def _answer(self, batch_id: str, end: asyncio.Event) -> None:
        """Ask its lines, unless it is to be answered by another model, or not at all."""
        batch = self._shelf.get(batch_id)
        if batch.status != "in_progress" or end.is_set():
            return
        if (batch.model, batch.identity) != (self._facts.model, self._facts.identity):
            _log.warning("%s waits for a server of %s as it was", batch_id, batch.model)
            await end.wait()
            return
        with await asyncio.to_thread(self._journal, batch) as journal:
            work = Work(self._lines(batch), journal, self._inside, self._facts.desk.behind)
            self._works[batch_id] = work
            ending = asyncio.create_task(end.wait())
            ending.add_done_callback(lambda _: work.stop())
            try:
                await work.run()
            finally:
                ending.cancel()
                self._shelf.show(self._now(self._shelf.get(batch_id)))
                del self._works[batch_id]

    async def _finish(self, batch_id: str) -> None:
        """Write its results; an end of the server leaves it for the next one."""
        batch = self._shelf.get(batch_id)
        if batch.is_over:
            return
        if self._closing.is_set():
            await self._shelf.put(batch)
            return
        if batch.status == "in_progress":
            batch = batch.at("finalizing")
            await self._shelf.put(batch)
        batch = await asyncio.to_thread(self._with_results, batch)
        await self._shelf.keep(batch)
        self._shelf.journal_path(batch).unlink(missing_ok=True)
        _log.info(
            "%s is %s: %d of %d lines answered",
            batch.id,
            batch.status,
            batch.completed,
            batch.total,
        )

    def _with_results(self, batch: Batch) -> Batch:
        """The batch at its end, its results among the files. Raises `DiskFull` and others."""
        is_cancelled = batch.status == "cancelling"
        how = "cancelled" if is_cancelled else "expired"
        why_not = (f"batch_{how}", f"the batch was {how} before this line was answered")
        n_ok = n_failed = n_missing = 0
        with (
            self._journal(batch) as journal,
            self._store.incoming() as answers,
            self._store.incoming() as errors,
        ):
            for line in self._lines(batch):
                is_ok, result = result_of(line, journal, why_not)
                (answers if is_ok else errors).write(result)
                n_ok += is_ok
                n_failed += not is_ok
                n_missing += isinstance(line, Line) and line.key not in journal
            for file, kind, file_id, n in (
                (answers, "output", batch.output_id, n_ok),
                (errors, "error", batch.error_id, n_failed),
            ):
                if n:
                    name = f"{batch.id}_{kind}.jsonl"
                    self._store.keep(file, filename=name, purpose="batch_output", file_id=file_id)
        counted = replace(batch, total=n_ok + n_failed, completed=n_ok, failed=n_failed)
        if is_cancelled:
            return counted.at("cancelled")
        return counted.at("expired" if n_missing else "completed")

    async def _fail(self, batch_id: str, code: str, message: str) -> None:
        _log.warning("%s has failed: %s", batch_id, message)
        problem: dict[str, Json] = {"code": code, "message": message, "line": None, "param": None}
        try:
            await self._shelf.put(replace(self._shelf.get(batch_id), problem=problem).at("failed"))
        except FileError as error:
            _log.warning("that %s has failed could not be written: %s", batch_id, error)

    def _input(self, batch: Batch) -> Path:
        return self._store.path(self._store.get(batch.input_file_id))

    def _lines(self, batch: Batch) -> Generator[AnyLine, None, None]:
        return read_lines(self._input(batch), batch.endpoint)

    def _journal(self, batch: Batch) -> Journal:
        identity: dict[str, Json] = {
            "batch": batch.id,
            "model": batch.model,
            "backend": batch.identity,
        }
        return Journal.open(str(self._shelf.journal_path(batch)), identity)
