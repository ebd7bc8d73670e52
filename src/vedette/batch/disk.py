"""Writes that are whole or named: the few file operations that journal and output share."""

from __future__ import annotations

import errno
import fcntl
import os

from vedette.errors import DiskFull, FileError

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
TAIL_BYTES = 1 << 16


def write_all(fd: int, data: bytes, path: str) -> None:
    """Write every byte. Raises `DiskFull`, or `FileError` for any other failure.

    When it raises, a part may have been written: the caller decides what to cut.
    """
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(fd, rest) :]
    except OSError as error:
        raise unwritable(path, error) from error


def unwritable(path: str, error: OSError) -> FileError:
    """The error for a file that the system does not let us write."""
    if error.errno in NO_ROOM:
        return DiskFull(
            f"no room left while writing {path}",
            hint="what is written stays; make room and run the same command again",
        )
    if error.errno == errno.EPIPE:
        return FileError(f"nobody reads {path} any more")
    return FileError(f"cannot write {path}: {error.strerror or error}")


def lock(fd: int, path: str) -> None:
    """Hold the file until it is closed. Raises `FileError` when another process holds it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise FileError(
            f"{path} is in use by another run of this job",
            hint="wait for it to end, or choose another --out",
        ) from error
    except OSError as error:
        raise FileError(f"cannot lock {path}: {error.strerror or error}") from error


def cut_torn_line(fd: int) -> int:
    """Cut what follows the last newline. Returns how many bytes that were."""
    size = os.fstat(fd).st_size
    keep = size
    while keep > 0:
        start = max(0, keep - TAIL_BYTES)
        found = os.pread(fd, keep - start, start).rfind(b"\n")
        if found >= 0:
            keep = start + found + 1
            break
        keep = start
    if keep < size:
        os.ftruncate(fd, keep)
    return size - keep


def make_parent(path: str) -> None:
    """Create the folder that the file goes into. Raises `FileError`."""
    parent = os.path.dirname(path)
    if parent:
        try:
            os.makedirs(parent, exist_ok=True)
        except OSError as error:
            raise FileError(f"cannot create the folder {parent}: {error.strerror}") from error
