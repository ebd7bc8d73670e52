"""Where result lines go: a file that is continued and verified, or a stream."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from typing import BinaryIO, Protocol

from vedette.errors import FileError

from .disk import cut_torn_line, lock, make_parent, unwritable, write_all

STDOUT = "-"
COPIED_BYTES = 1 << 20


class Output(Protocol):
    """Takes the job's result lines in order, from the first one on, in every run."""

    notes: list[str]
    """What happened that a user should know, a sentence each."""

    def put(self, line: bytes) -> None:
        """The next line; one that stands there already is only compared.

        Raises `DiskFull` or `FileError`; the lines before it then stay.
        """
        ...

    def finish(self) -> None:
        """The job is complete: what was put is now the whole output. Same errors as `put`."""
        ...

    def close(self) -> None:
        """Let go of it; without `finish`, what a later run needs to go on stays."""
        ...


class Sink(Protocol):
    """Takes the job's results beside its output, in order, from the first one on, in every run.

    So what is put again must not be there twice.
    """

    @property
    def notes(self) -> list[str]:
        """What a user should know at the end, a sentence each."""
        ...

    def put(self, row_id: str, content_sha256: str, body: bytes) -> None:
        """The next result: its row's id and content hash, and the line without its id.

        Raises `FileError` where it cannot be kept; a later run then puts it again.
        """
        ...

    def finish(self) -> None:
        """Nothing more comes in this run: keep what was put. Same errors as `put`."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


def is_file(path: str) -> bool:
    """Whether the output is (or will be) a regular file: one that can be continued."""
    if path == STDOUT:
        return False
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return True


def check_output(path: str) -> None:
    """Raise `FileError` unless the output can be written; creates the folder it goes into."""
    if path == STDOUT:
        return
    if os.path.isdir(path):
        raise FileError(f"cannot write {path}: it is a folder", hint="name a file in it")
    make_parent(path)
    target = path if os.path.exists(path) else os.path.dirname(path) or "."
    if not os.access(target, os.W_OK):
        raise FileError(f"cannot write {path}: no permission")


def has_content(path: str) -> bool:
    """Whether an output file with something in it is there already."""
    return is_file(path) and os.path.exists(path) and os.path.getsize(path) > 0


def open_output(path: str, *, fresh: bool = False) -> FileOutput | StreamOutput:
    """The output for a path. `fresh` empties a file. Raises `FileError`."""
    if is_file(path):
        return FileOutput(path, fresh=fresh)
    if path == STDOUT:
        sys.stdout.flush()
        return StreamOutput(os.dup(sys.stdout.fileno()), "stdout")
    try:
        return StreamOutput(os.open(path, os.O_WRONLY | os.O_CLOEXEC), path)
    except OSError as error:
        raise unwritable(path, error) from error


class StreamOutput:
    """Stdout, a pipe or a device: lines go out as they come, none can be taken back."""

    def __init__(self, fd: int, name: str) -> None:
        self.notes: list[str] = []
        self._fd = fd
        self._name = name

    def put(self, line: bytes) -> None:
        """Write the line."""
        write_all(self._fd, line, self._name)

    def finish(self) -> None:
        """Nothing is left to do."""

    def close(self) -> None:
        """Close this handle of the stream."""
        os.close(self._fd)


class FileOutput:
    """A result file that an earlier run may have begun.

    The lines that are there are compared with those put. As long as they agree nothing is
    written; after the last one, lines are appended. At the first one that differs (the input has
    changed, or a failed row has been answered) a new file is begun beside it, which takes the old
    one's place on `finish`; until then the old file stays as it was.
    """

    def __init__(self, path: str, *, fresh: bool = False) -> None:
        self.path = os.path.realpath(path)
        self.notes: list[str] = []
        self._temporary = f"{self.path}.partial"
        self._fd_new: int | None = None
        self._end = 0  # bytes of this run's result that stand in the file
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._fd = os.open(self.path, flags, 0o666)
        except OSError as error:
            raise unwritable(path, error) from error
        try:
            lock(self._fd, path)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._temporary)  # of a run that was killed while it rewrote
            if fresh:
                os.ftruncate(self._fd, 0)
            torn = cut_torn_line(self._fd)
            self._existing: BinaryIO | None = open(self.path, "rb")  # noqa: SIM115
        except BaseException:
            os.close(self._fd)
            raise
        if torn:
            self.notes.append(f"{path}: dropped the torn last line ({torn:,} bytes)")

    def put(self, line: bytes) -> None:
        """Compare or write the next line."""
        if self._existing is not None:
            there = self._existing.readline()
            if there == line:
                self._end += len(line)
                return
            self._stop_comparing()
            if there:
                self._rewrite()
        self._write(line)

    def finish(self) -> None:
        """Drop what is left of an old result, sync, and put a rewritten file in place."""
        if self._existing is not None:
            longer = bool(self._existing.read(1))
            self._stop_comparing()
            if longer:
                self._rewrite()
        try:
            if self._fd_new is None:
                os.fsync(self._fd)
                return
            os.fsync(self._fd_new)
            os.replace(self._temporary, self.path)
            os.close(self._fd_new)
            self._fd_new = None
        except OSError as error:
            raise unwritable(self.path, error) from error

    def close(self) -> None:
        """Close; an unfinished rewrite is dropped, the old file stands."""
        self._stop_comparing()
        if self._fd_new is not None:
            os.close(self._fd_new)
            self._fd_new = None
            os.unlink(self._temporary)
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _write(self, line: bytes) -> None:
        fd = self._fd if self._fd_new is None else self._fd_new
        try:
            write_all(fd, line, self.path)
        except FileError:
            os.ftruncate(fd, self._end)
            raise
        self._end += len(line)

    def _stop_comparing(self) -> None:
        if self._existing is not None:
            self._existing.close()
            self._existing = None

    def _rewrite(self) -> None:
        """Begin the new file with the part of the old one that has been found right."""
        self.notes.append(f"{self.path}: its lines differ from this job's; it is written anew")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        try:
            self._fd_new = os.open(self._temporary, flags, 0o666)
            os.fchmod(self._fd_new, stat.S_IMODE(os.fstat(self._fd).st_mode))
            with open(self.path, "rb") as old:
                left = self._end
                while left and (part := old.read(min(left, COPIED_BYTES))):
                    write_all(self._fd_new, part, self._temporary)
                    left -= len(part)
        except OSError as error:
            raise unwritable(self._temporary, error) from error
