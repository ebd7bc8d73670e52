"""The journal: what a job has answered so far, in a file that survives being cut anywhere.

    {"vedette_journal":1,"job":"<sha256>","identity":{...}}
    <row key, 32 hex digits> <crc32, 8 hex digits> start
    <row key, 32 hex digits> <crc32, 8 hex digits> {"ok":true,...}

It is only ever appended to, each line by one write that the operating system has before the next
step is taken: killing the process loses nothing. The file is synced to the disk about once a
second and at the end, so that a power failure costs about a second of work. A later line of a key
replaces an earlier one. `start` lines let a resumed run say how much it had to do again.
"""

from __future__ import annotations

import os
import tempfile
import time
import zlib
from types import TracebackType
from typing import Self

import orjson

from vedette.errors import FileError, JournalMismatch
from vedette.types import Json

from .disk import cut_torn_line, lock, make_parent, unwritable, write_all
from .results import KEY_BYTES, is_error, job_hash

MAGIC = b'{"vedette_journal":1,'
START = b"start"
FINDING_KEY = bytes(KEY_BYTES)  # of what the task learnt from the first rows; no row's hash is 0
SYNC_EVERY_S = 1.0
BODY_AT = 2 * KEY_BYTES + 10  # key, space, crc, space
LENGTH_BITS = 32


class Journal:
    """Results by row key. In memory it keeps a key and a place in the file for each, no bodies.

    One process and one thread at a time: the file is locked as long as it is open.
    """

    def __init__(self, fd: int, path: str, identity: dict[str, Json]) -> None:
        self.path = path
        self.torn_bytes = 0
        self._fd = fd
        self._identity = identity
        self._index: dict[bytes, int] = {}
        self._unfinished: set[bytes] = set()
        self._failed: set[bytes] = set()
        self._end = 0
        self._old_end = 0
        self._synced_at = time.monotonic()

    @classmethod
    def open(cls, path: str, identity: dict[str, Json], *, fresh: bool = False) -> Self:
        """Open or create the journal of this job; `fresh` forgets whatever it held.

        A torn last line is cut away (`torn_bytes` says how much). Raises `JournalMismatch` for
        another job's journal, `FileError` for one that is damaged, locked or no journal.
        """
        make_parent(path)
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise unwritable(path, error) from error
        journal = cls(fd, path, identity)
        try:
            lock(fd, path)
            if not MAGIC.startswith(os.pread(fd, len(MAGIC), 0)):
                raise FileError(f"{path} is not a journal", hint="choose another --out")
            if fresh:
                os.ftruncate(fd, 0)
            journal._load()
        except OSError as error:
            os.close(fd)
            raise unwritable(path, error) from error
        except BaseException:
            os.close(fd)
            raise
        return journal

    @classmethod
    def temporary(cls, identity: dict[str, Json]) -> Self:
        """A journal without a name that ends with the process, for output that is a stream."""
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
        journal = cls(fd, "the temporary journal", identity)
        journal._load()
        return journal

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __contains__(self, key: bytes) -> bool:
        return key in self._index

    def __len__(self) -> int:
        return len(self._index)

    def is_old(self, key: bytes) -> bool:
        """Whether the result stood in the journal when it was opened."""
        place = self._index.get(key)
        return place is not None and place >> LENGTH_BITS < self._old_end

    def was_started(self, key: bytes) -> bool:
        """Whether an earlier run had begun this row and was ended before it had the answer."""
        return key in self._unfinished

    def get(self, key: bytes) -> bytes:
        """The body recorded for the key. Raises KeyError."""
        place = self._index[key]
        length = place & ((1 << LENGTH_BITS) - 1)
        return os.pread(self._fd, length, place >> LENGTH_BITS)

    def start(self, key: bytes) -> None:
        """Record that a row is being asked."""
        self._append(key, START)

    def add(self, key: bytes, body: bytes) -> None:
        """Record a result. Raises `DiskFull` or `FileError`; the journal is then as before."""
        self._index[key] = self._append(key, body) << LENGTH_BITS | len(body)
        if time.monotonic() - self._synced_at >= SYNC_EVERY_S:
            self.sync()

    def forget_errors(self) -> int:
        """Drop the error results, so that their rows are asked again. Returns how many."""
        for key in self._failed:
            del self._index[key]
        dropped = len(self._failed)
        self._failed = set()
        return dropped

    def sync(self) -> None:
        """Have the disk hold what the operating system has. Raises `DiskFull` or `FileError`."""
        try:
            os.fsync(self._fd)
        except OSError as error:
            raise unwritable(self.path, error) from error
        self._synced_at = time.monotonic()

    def close(self) -> None:
        """Sync, unlock, close."""
        if self._fd < 0:
            return
        try:
            self.sync()
        finally:
            os.close(self._fd)
            self._fd = -1

    def _append(self, key: bytes, body: bytes) -> int:
        """Write one line; returns where its body begins."""
        line = b"%b %08x %b\n" % (key.hex().encode(), _checksum(key, body), body)
        self._write(line)
        return self._end - len(line) + BODY_AT

    def _write(self, line: bytes) -> None:
        try:
            write_all(self._fd, line, self.path)
        except FileError:
            os.ftruncate(self._fd, self._end)
            raise
        self._end += len(line)

    def _load(self) -> None:
        self.torn_bytes = cut_torn_line(self._fd)
        if os.fstat(self._fd).st_size == 0:
            self._write(self._header())
            self.sync()
        else:
            self._read()
        self._old_end = self._end

    def _header(self) -> bytes:
        return (
            MAGIC
            + b'"job":'
            + orjson.dumps(job_hash(self._identity).hex())
            + b',"identity":'
            + orjson.dumps(self._identity, option=orjson.OPT_SORT_KEYS)
            + b"}\n"
        )

    def _read(self) -> None:
        with open(self._fd, "rb", closefd=False) as file:
            file.seek(0)
            self._check_header(file.readline())
            self._end = file.tell()
            for number, line in enumerate(file, start=2):
                self._index_line(number, line)
                self._end += len(line)

    def _check_header(self, line: bytes) -> None:
        try:
            header = orjson.loads(line)
            job, identity = header["job"], header["identity"]
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise self._damaged(1) from error
        if job != job_hash(self._identity).hex():
            differing = "; ".join(differences(identity, self._identity))
            raise JournalMismatch(
                f"{self.path} belongs to another job: {differing or 'its identity differs'}",
                hint="choose another --out, or start over with --fresh",
            )

    def _index_line(self, number: int, line: bytes) -> None:
        body = line[BODY_AT:-1]
        try:
            key = bytes.fromhex(line[: 2 * KEY_BYTES].decode("ascii"))
            intact = int(line[2 * KEY_BYTES + 1 : BODY_AT - 1], 16) == _checksum(key, body)
        except ValueError as error:
            raise self._damaged(number) from error
        if not intact or len(key) != KEY_BYTES:
            raise self._damaged(number)
        if body == START:
            self._unfinished.add(key)
            return
        self._unfinished.discard(key)
        self._index[key] = (self._end + BODY_AT) << LENGTH_BITS | len(body)
        if is_error(body):
            self._failed.add(key)
        else:
            self._failed.discard(key)

    def _damaged(self, line_number: int) -> FileError:
        return FileError(
            f"{self.path} is damaged at line {line_number}",
            hint="delete that line to have its row asked again, or start over with --fresh",
        )


def differences(old: Json, new: Json, path: str = "identity") -> list[str]:
    """What differs between two identities, one phrase each, short values shown."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        was, now = _short(old), _short(new)
        if old == new:
            return []
        return [f"{path} was {was} and is {now}" if was and now else f"{path} differs"]
    found = []
    for key in sorted(old.keys() | new.keys()):
        inner = key if path == "identity" else f"{path}.{key}"
        if key not in new:
            found.append(f"{inner} is gone")
        elif key not in old:
            found.append(f"{inner} is new")
        else:
            found += differences(old[key], new[key], inner)
    return found


def _short(value: Json) -> str | None:
    if isinstance(value, dict | list):
        return None
    text = orjson.dumps(value).decode()
    return text if len(text) <= 40 else None


def _checksum(key: bytes, body: bytes) -> int:
    return zlib.crc32(body, zlib.crc32(key))
