"""Files that clients have sent, and that batches have written: a folder of this server."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, TypeAlias

from vedette.batch.disk import unwritable, write_all
from vedette.errors import DiskFull, FileError
from vedette.models.atomic import write_json
from vedette.types import Json

from .problems import Refusal

Purpose: TypeAlias = Literal["batch", "batch_output"]
PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600
ID_FORM = re.compile(r"file-[0-9a-f]{32}")
MEBIBYTE = 1024 * 1024
MOST_FILE_BYTES = 256 * MEBIBYTE
MOST_BYTES = 4096 * MEBIBYTE

_log = logging.getLogger(__name__)


def new_id() -> str:
    """An id that nobody can guess."""
    return f"file-{secrets.token_hex(16)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """What is known of a file. `filename` is the client's word for it and names nothing here."""

    id: str
    bytes: int
    created_at: float
    filename: str
    purpose: Purpose

    def as_dict(self) -> dict[str, Json]:
        """As OpenAI's file object."""
        return {
            "id": self.id,
            "object": "file",
            "bytes": self.bytes,
            "created_at": int(self.created_at),
            "filename": self.filename,
            "purpose": self.purpose,
            "status": "processed",
            "status_details": None,
            "expires_at": None,
        }


class FileStore:
    """The files of one server, in a folder that is its own while this is open.

    `FOLDER/files/ID` holds a file, `ID.json` what is known of it: written last, so that a file
    is there whole or not at all, and removed first. A file has at most `most_file_bytes`, all
    together have `most_bytes` before no more is taken in. Raises `FileError` for a folder that
    cannot be written or that another server has.
    """

    def __init__(
        self,
        folder: Path,
        *,
        most_file_bytes: int = MOST_FILE_BYTES,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self.folder = folder
        self.most_file_bytes = most_file_bytes
        self.most_bytes = most_bytes
        self._files = folder / "files"
        self._incoming = folder / "incoming"
        self._found: dict[str, StoredFile] = {}
        self._readers: dict[str, set[str]] = {}
        self._coming_bytes = 0
        try:
            for one in (folder, self._files, self._incoming):
                one.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            self._lock = _locked(folder)
        except OSError as error:
            raise FileError(f"files cannot be kept in {folder}: {error.strerror}") from error
        try:
            self._load()
        except BaseException:
            os.close(self._lock)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let another server have the folder."""
        os.close(self._lock)

    def all(self) -> list[StoredFile]:
        """Every file, the oldest first. A copy: a batch that ends adds files on another thread."""
        return list(self._found.values())

    def get(self, file_id: str) -> StoredFile:
        """Raises `Refusal` (404)."""
        found = self._found.get(file_id)
        if found is None:
            raise Refusal(
                f"there is no file {file_id!r}", status=404, code="file_not_found", param="id"
            )
        return found

    def path(self, file: StoredFile) -> Path:
        """Where its bytes are."""
        return self._files / file.id

    def delete(self, file_id: str) -> None:
        """Raises `Refusal` for a file that is not there, or that a batch still reads."""
        file = self.get(file_id)
        if readers := self._readers.get(file_id):
            raise Refusal(
                f"{file_id} is read by {min(readers)}, which is not over; cancel it first",
                code="file_in_use",
                param="id",
            )
        del self._found[file_id]
        self._about(file_id).unlink(missing_ok=True)
        self.path(file).unlink(missing_ok=True)

    def hold(self, file_id: str, reader: str) -> None:
        """Nobody may delete the file until this reader releases it."""
        self._readers.setdefault(file_id, set()).add(reader)

    def release(self, file_id: str, reader: str) -> None:
        """The reader has done with it."""
        self._readers[file_id].discard(reader)

    @contextmanager
    def incoming(self) -> Iterator[Incoming]:
        """A file to be written. What is not kept when the block is left is gone."""
        path = self._incoming / secrets.token_hex(16)
        file = Incoming(self, path)
        try:
            yield file
        finally:
            if file.n_admitted:  # files of batches are written on other threads, and not admitted
                self._coming_bytes -= file.n_admitted
            file.close()

    def admit(self, n_bytes: int) -> None:
        """Raises `Refusal` where there is no room for so many bytes more."""
        n_kept = sum(file.bytes for file in self.all())
        if n_kept + self._coming_bytes + n_bytes > self.most_bytes:
            raise Refusal(
                f"the files of this server may have {self.most_bytes:,} bytes together, and have "
                f"{n_kept:,}; delete some",
                status=413,
                code="quota_exceeded",
            )
        self._coming_bytes += n_bytes

    def keep(
        self,
        incoming: Incoming,
        *,
        filename: str,
        purpose: Purpose,
        file_id: str | None = None,
    ) -> StoredFile:
        """Put a file that is written in its place; one of the same id makes room.

        Raises `DiskFull` or `FileError`.
        """
        try:
            return self._keep(incoming, filename, purpose, file_id or new_id())
        except OSError as error:
            raise unwritable(str(self._files), error) from error

    def _keep(
        self, incoming: Incoming, filename: str, purpose: Purpose, file_id: str
    ) -> StoredFile:
        n_bytes = incoming.finish()
        file = StoredFile(
            id=file_id,
            bytes=n_bytes,
            created_at=time.time(),
            filename=filename,
            purpose=purpose,
        )
        os.replace(incoming.path, self.path(file))
        write_json(self._about(file.id), asdict(file))
        _sync_folder(self._files)
        self._found[file.id] = file
        return file

    def _about(self, file_id: str) -> Path:
        return self._files / f"{file_id}.json"

    def _load(self) -> None:
        """Read what is known; remove what an end at the wrong moment has left."""
        for left in self._incoming.iterdir():
            left.unlink()
        found = [self._read(path) for path in self._files.glob("file-*.json")]
        whole = sorted((file for file in found if file), key=lambda file: file.created_at)
        self._found = {file.id: file for file in whole}
        for path in self._files.iterdir():
            is_orphan = ID_FORM.fullmatch(path.name) and not self._about(path.name).exists()
            if is_orphan or path.suffix == ".tmp":
                path.unlink()

    def _read(self, about: Path) -> StoredFile | None:
        try:
            file = StoredFile(**json.loads(about.read_bytes()))
            is_whole = file.id == about.stem and self.path(file).stat().st_size == file.bytes
        except (OSError, ValueError, TypeError):
            is_whole = False
        if not is_whole:
            _log.warning("%s does not describe a file that is there: it is left out", about)
            return None
        return file


class Incoming:
    """A file that is being written, seen by nobody until it is kept."""

    def __init__(self, store: FileStore, path: Path) -> None:
        self.path = path
        self.n_admitted = 0
        self._store = store
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._fd = os.open(path, flags, PRIVATE_FILE)

    def admit(self, n_bytes: int) -> None:
        """Raises `Refusal` where the file may not have so many bytes more."""
        if self.n_admitted + n_bytes > self._store.most_file_bytes:
            raise too_large(self._store.most_file_bytes)
        self._store.admit(n_bytes)
        self.n_admitted += n_bytes

    def write(self, data: bytes) -> None:
        """Append. Raises `DiskFull` or `FileError`."""
        write_all(self._fd, data, str(self.path))

    def finish(self) -> int:
        """Have the disk hold it; returns its size in bytes. Raises `OSError`."""
        os.fsync(self._fd)
        return os.fstat(self._fd).st_size

    def close(self) -> None:
        """Close it, and remove it unless it was kept."""
        os.close(self._fd)
        self.path.unlink(missing_ok=True)


def too_large(most_file_bytes: int) -> Refusal:
    """The refusal of a file that is too large."""
    return Refusal(
        f"the file is larger than {most_file_bytes:,} bytes",
        status=413,
        code="file_too_large",
        param="file",
    )


def unkept(what: str, error: FileError) -> Refusal:
    """The refusal where the disk cannot be written; the client is not told of folders here."""
    _log.warning("%s cannot be kept: %s", what, error)
    is_full = isinstance(error, DiskFull)
    reason = "the server's disk is full" if is_full else "the server cannot write its folder"
    return Refusal(f"{what} cannot be kept: {reason}", status=507, code="storage_failed")


def _locked(folder: Path) -> int:
    """A descriptor that has the folder as long as it is open. Raises `FileError`."""
    fd = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(fd)
        raise FileError(
            f"{folder} is in use by another server", hint="give this one another --files-dir"
        ) from error
    return fd


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
