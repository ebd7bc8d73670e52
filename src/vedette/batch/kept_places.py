"""The places of texts that come again, kept on disk for every job."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from vedette.backends.around import Around, Known, Noted
from vedette.backends.base import Backend, Handle, Result
from vedette.models.home import home
from vedette.tasks.base import KeepsPlaces, Task
from vedette.types import AnyRequest, Embedding, EmbedRequest, Usage

FORMAT = 1
MOST_KEPT = 50_000
"""Places on disk, 4 KB each; the oldest go first."""

WAIT_S = 5.0  # for another process that writes
_KEY_BYTES = 16


@contextmanager
def keeping_places(task: Task, backend: Backend) -> Iterator[Backend]:
    """The backend, with what is kept before it if the task has a use for that."""
    if not (isinstance(task, KeepsPlaces) and task.keeps_places):
        yield backend
        return
    with closing(KeptPlaces(backend)) as kept:
        yield kept


class KeptPlaces(Around):
    """Asks another backend, but for a place that is to be kept only once.

    A place is known by the prompt and by what the backend says an answer depends on. It costs no
    tokens then. Nothing of the text is kept but its place. One of them serves one driver.
    """

    def __init__(self, backend: Backend, folder: Path | None = None) -> None:
        super().__init__(backend)
        self._folder = folder
        self._store: _Store | None = None

    def answered(self, request: AnyRequest) -> Handle[Result]:
        """See `Around`."""
        if not isinstance(request, EmbedRequest) or not request.keep or request.adapters:
            return super().answered(request)
        if self._store is None:
            self._store = _Store(self._folder or home() / "places")
        store, key = self._store, self._key(request)
        known = store.get(key)
        if known is not None:
            return Known(_embedding(known, Usage()))

        def keep(result: Result) -> Result:
            if not isinstance(result, Embedding):
                return result
            vector = np.asarray(result.vector, np.float16)
            store.put(key, vector)
            return _embedding(vector, result.usage)

        return Noted(super().answered(request), keep)

    def close(self) -> None:
        """Let the file of places go; the backend is its opener's."""
        if self._store is not None:
            self._store.close()

    def _key(self, request: EmbedRequest) -> bytes:
        asked = [FORMAT, repr(request.prompt), request.tier, self.identity]
        seen = orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)
        return hashlib.blake2b(seen, digest_size=_KEY_BYTES).digest()


class _Store:
    """A file of places. Where it cannot be read or written, places only cost time again."""

    def __init__(self, folder: Path) -> None:
        self._file: sqlite3.Connection | None = None
        with suppress(OSError, sqlite3.Error):
            folder.mkdir(parents=True, exist_ok=True)
            # A driver is one thread's at a time, though not always the same one's.
            self._file = sqlite3.connect(
                folder / "texts.sqlite",
                timeout=WAIT_S,
                isolation_level=None,
                check_same_thread=False,
            )
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = NORMAL")
            self._file.execute(
                "CREATE TABLE IF NOT EXISTS places "
                "(number INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB UNIQUE, vector BLOB)"
            )

    def get(self, key: bytes) -> NDArray[np.float16] | None:
        """The place, if it is kept."""
        row = self._do("SELECT vector FROM places WHERE key = ?", key)
        return None if row is None else np.frombuffer(row[0], np.float16)

    def put(self, key: bytes, vector: NDArray[np.float16]) -> None:
        """Keep a place, and let the oldest go if there are too many."""
        self._do("INSERT OR IGNORE INTO places (key, vector) VALUES (?, ?)", key, vector.tobytes())
        self._do(
            "DELETE FROM places WHERE number <= (SELECT max(number) FROM places) - ?", MOST_KEPT
        )

    def close(self) -> None:
        """Let the file go."""
        if self._file is not None:
            self._file.close()

    def _do(self, statement: str, *values: bytes | int) -> tuple[bytes, ...] | None:
        if self._file is not None:
            with suppress(sqlite3.Error):
                row: tuple[bytes, ...] | None = self._file.execute(statement, values).fetchone()
                return row
        return None


def _embedding(vector: NDArray[np.float16], usage: Usage) -> Embedding:
    """Of half precision always, so that a kept place and a fresh one are the same."""
    return Embedding(vector=tuple(vector.astype(np.float32).tolist()), usage=usage)
