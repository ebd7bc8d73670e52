"""The first bytes of a file on its way: what is there is kept, hashed and continued.

A partial file is always a prefix of the one content that the hash promises, so any source can go
on where any other stopped, and its length is the only record that resuming needs.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from pathlib import Path
from types import TracebackType

from vedette.errors import DiskFull, FileError
from vedette.models.units import human_bytes

_BLOCK_BYTES = 1 << 20


def disk_full(folder: Path, needed_bytes: int) -> DiskFull:
    """The error that says how much room is needed where, and how much there is."""
    free_bytes = shutil.disk_usage(folder).free
    return DiskFull(
        f"the disk of {folder} is too full: {human_bytes(needed_bytes)} "
        f"({needed_bytes} bytes) needed, {human_bytes(free_bytes)} ({free_bytes} bytes) free",
        hint="free some room or set VEDETTE_HOME to another disk; "
        "the same pull then goes on where it stopped",
    )


def check_room(folder: Path, needed_bytes: int) -> None:
    """Raise `DiskFull` unless the folder's disk has this much room."""
    if shutil.disk_usage(folder).free < needed_bytes:
        raise disk_full(folder, needed_bytes)


class Partial:
    """A file being received. Open it as a context; only one process may (see `home.locked`)."""

    def __init__(self, path: Path, expected_bytes: int) -> None:
        """Continue what lies at `path`. Raises `FileError`."""
        self.path = path
        self.expected_bytes = expected_bytes
        self.size_bytes = 0
        self._hash = hashlib.sha256()
        try:
            self._file = path.open("ab+", buffering=0)
            self._take_stock()
        except OSError as error:
            raise FileError(f"cannot write {path}: {error.strerror}") from error

    def _take_stock(self) -> None:
        if os.fstat(self._file.fileno()).st_size > self.expected_bytes:
            self._file.truncate(0)
        self._file.seek(0)
        while block := self._file.read(_BLOCK_BYTES):
            self._hash.update(block)
            self.size_bytes += len(block)

    @property
    def missing_bytes(self) -> int:
        """What is still to come."""
        return self.expected_bytes - self.size_bytes

    @property
    def sha256(self) -> str:
        """Hash of what is there."""
        return self._hash.hexdigest()

    def write(self, block: bytes) -> None:
        """Append. Raises `DiskFull` (what was written stays) or `FileError`."""
        view = memoryview(block)[: self.missing_bytes]
        try:
            while view:
                n_bytes = self._file.write(view)
                self._hash.update(view[:n_bytes])
                self.size_bytes += n_bytes
                view = view[n_bytes:]
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise disk_full(self.path.parent, self.missing_bytes) from error
            raise FileError(f"cannot write {self.path}: {error.strerror}") from error

    def start_over(self) -> None:
        """Drop everything received: it was the wrong content."""
        self._file.truncate(0)
        self._hash = hashlib.sha256()
        self.size_bytes = 0

    def move_to(self, target: Path) -> None:
        """Make it the finished file: on disk first, then under its name in one step."""
        try:
            os.fsync(self._file.fileno())
            self.path.replace(target)
        except OSError as error:
            raise FileError(f"cannot write {target}: {error.strerror}") from error

    def __enter__(self) -> Partial:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
        if self.size_bytes == 0:
            self.path.unlink(missing_ok=True)
