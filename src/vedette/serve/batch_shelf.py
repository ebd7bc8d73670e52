"""The batches of a server, kept in its folder: a folder for each, with its record and journal."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import shutil
from dataclasses import asdict
from pathlib import Path

from vedette.batch.disk import unwritable
from vedette.errors import FileError
from vedette.models.atomic import write_json

from .batch_record import Batch
from .file_store import PRIVATE_FOLDER
from .problems import Refusal

ID_FORM = re.compile(r"batch_[0-9a-f]{32}")
RECORD = "batch.json"

_log = logging.getLogger(__name__)


class Shelf:
    """Records by id, in memory and on disk. Of one event loop. Raises `FileError` at the start."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._batches: dict[str, Batch] = {}
        self._saving = asyncio.Lock()
        try:
            folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
            self._load()
        except OSError as error:
            raise FileError(f"{folder} cannot be used: {error.strerror}") from error

    def all(self) -> list[Batch]:
        """Every batch, the oldest first."""
        return list(self._batches.values())

    def get(self, batch_id: str) -> Batch:
        """Raises `Refusal` (404)."""
        found = self._batches.get(batch_id)
        if found is None:
            raise Refusal(
                f"there is no batch {batch_id!r}", status=404, code="batch_not_found", param="id"
            )
        return found

    async def keep(self, batch: Batch) -> None:
        """A record that nobody else changes, seen once it is on disk. Raises `FileError`."""
        await asyncio.to_thread(self._write, batch)
        self.show(batch)

    def show(self, batch: Batch) -> None:
        """What the record says from now on; `put` keeps it."""
        self._batches[batch.id] = batch

    async def put(self, batch: Batch) -> None:
        """The record as it is from now on, on disk when this returns. Raises `FileError`."""
        self.show(batch)
        async with self._saving:  # what is newest is written last
            await asyncio.to_thread(self._write, self._batches[batch.id])

    def journal_path(self, batch: Batch) -> Path:
        """Where the answers are until the batch is over."""
        return self._of(batch.id) / "journal"

    def _of(self, batch_id: str) -> Path:
        return self._folder / batch_id

    def _write(self, batch: Batch) -> None:
        record = self._of(batch.id) / RECORD
        try:
            record.parent.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
            write_json(record, asdict(batch))
        except OSError as error:
            raise unwritable(str(record), error) from error

    def _load(self) -> None:
        found = [
            batch
            for folder in self._folder.iterdir()
            if ID_FORM.fullmatch(folder.name) and (batch := self._read(folder))
        ]
        for batch in sorted(found, key=lambda batch: batch.created_at):
            self.show(batch)

    def _read(self, folder: Path) -> Batch | None:
        record = folder / RECORD
        if not record.exists():  # killed while it was made: nobody was told of it
            shutil.rmtree(folder)
            return None
        try:
            return Batch(**json.loads(record.read_bytes()))
        except (ValueError, TypeError) as error:
            _log.warning("%s is no record of a batch and is left out: %s", record, error)
            return None
