"""Texts from files and to files: strict on the way in, whole or not at all on the way out."""

from __future__ import annotations

import codecs
import errno
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import BinaryIO

from vedette.errors import DiskFull, FileError

READ_BYTES = 1 << 18
STDOUT = "-"


def text_pieces(stream: BinaryIO, name: str) -> Iterator[str]:
    """The text of a stream in pieces, line ends as they are. Raises `FileError` for other bytes."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    read = 0
    while True:
        try:
            data = stream.read(READ_BYTES)
        except (OSError, EOFError, zlib.error) as error:  # the last two of a damaged .gz
            reason = getattr(error, "strerror", None) or error
            raise FileError(f"cannot read {name}: {reason}") from error
        waiting = len(decoder.getstate()[0])
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            at = read - waiting + error.start
            byte = error.object[error.start]
            raise FileError(
                f"{name}: not valid UTF-8 (byte 0x{byte:02x} at position {at:,}); what cannot be "
                "read cannot be checked",
                hint="convert the file to UTF-8",
            ) from error
        yield text
        if not data:
            return
        read += len(data)


class Sink:
    """Where text goes: a file that is put in place by `finish`, or a stream.

    Into a stream text goes at once, after `before` was called; a file appears only when it is
    complete, also after `before`. Left without `finish`, a file is as it was. Raises `FileError`
    or `DiskFull`.
    """

    def __init__(self, path: str, before: Callable[[], None] = lambda: None) -> None:
        self.path = path
        self._before = before
        self._beside = f"{path}.{os.getpid()}.tmp" if _is_file(path) else None
        self._closed = False
        if path == STDOUT:
            sys.stdout.flush()
            self._fd = os.dup(sys.stdout.fileno())
            return
        flags = os.O_WRONLY | os.O_CLOEXEC
        if self._beside:
            flags |= os.O_CREAT | os.O_TRUNC
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        try:
            self._fd = os.open(self._beside or path, flags, 0o600)
        except OSError as error:
            raise self._unwritable(error) from error

    def put(self, text: str) -> None:
        """Append."""
        if not self._beside:
            self._before()
        rest = memoryview(text.encode("utf-8"))
        try:
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._unwritable(error) from error

    def finish(self) -> None:
        """It is complete: put the file in place."""
        self._before()
        if not self._beside:
            return
        try:
            os.fsync(self._fd)
            if os.path.exists(self.path):
                os.fchmod(self._fd, stat.S_IMODE(os.stat(self.path).st_mode))
            else:
                os.fchmod(self._fd, 0o666 & ~_umask())
            os.replace(self._beside, self.path)
            self._beside = None
        except OSError as error:
            raise self._unwritable(error) from error

    def close(self) -> None:
        """Let go of it; what was not finished is removed."""
        if self._closed:
            return
        self._closed = True
        os.close(self._fd)
        if self._beside:
            with suppress(FileNotFoundError):
                os.unlink(self._beside)

    def __enter__(self) -> Sink:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def _unwritable(self, error: OSError) -> FileError:
        kind = DiskFull if error.errno in (errno.ENOSPC, errno.EDQUOT) else FileError
        return kind(f"cannot write {self.path}: {error.strerror or error}")


def _is_file(path: str) -> bool:
    """Whether it is, or will be, a regular file."""
    if path == STDOUT:
        return False
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return True


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
