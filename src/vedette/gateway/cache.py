"""Answers kept for requests that come again exactly, for a time and up to a size.

Kept are hashes of the requests, never these; and the answers as the tier gave them, so with
placeholders in the places of what was hidden from a larger model.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from vedette.errors import FileError

from .passage import Object

_log = logging.getLogger(__name__)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    key BLOB PRIMARY KEY, at_s REAL NOT NULL, used_s REAL NOT NULL, bytes INTEGER NOT NULL,
    content BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS answers_used ON answers (used_s);
"""


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer: its objects (one, or the chunks of a stream), and who gave it.

    `asked_tokens` and `answer_tokens` are what the largest tier would have taken for it.
    """

    tier: str
    model: str
    objects: Sequence[Object]
    asked_tokens: int
    answer_tokens: int


class AnswerCache:
    """Answers in an SQLite file. Safe from any thread.

    What has not been used for longest goes first where `max_bytes` are full. A cache that fails is
    no reason to fail a request: that is a line in the log, and as if nothing were kept. Raises
    `FileError` for a file that cannot be opened.
    """

    def __init__(self, path: Path, *, ttl_s: float, max_bytes: int) -> None:
        self.failures = 0
        self._ttl_s = ttl_s
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # answers are the user's alone
            self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._database.executescript(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            reason = getattr(error, "strerror", None) or error
            raise FileError(f"cannot open the gateway's cache {path}: {reason}") from error

    def get(self, key: bytes) -> Kept | None:
        """The answer that is kept under a key and is not too old."""
        now = time.time()
        try:
            with self._lock:
                row = self._database.execute(
                    "SELECT content FROM answers WHERE key = ? AND at_s > ?",
                    (key, now - self._ttl_s),
                ).fetchone()
                if row is None:
                    return None
                self._database.execute("UPDATE answers SET used_s = ? WHERE key = ?", (now, key))
            return Kept(**orjson.loads(row[0]))
        except (sqlite3.Error, orjson.JSONDecodeError, TypeError) as error:
            self._failed(error)
            return None

    def put(self, key: bytes, kept: Kept) -> None:
        """Keep an answer, and let go of what is too old or too much."""
        content = orjson.dumps(kept)
        if len(content) > self._max_bytes:
            return
        now = time.time()
        try:
            with self._lock, self._database as database:
                database.execute("BEGIN IMMEDIATE")
                database.execute("DELETE FROM answers WHERE at_s <= ?", (now - self._ttl_s,))
                database.execute(
                    "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)",
                    (key, now, now, len(content), content),
                )
                self._shrink(database)
        except sqlite3.Error as error:
            self._failed(error)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    def _shrink(self, database: sqlite3.Connection) -> None:
        (n_bytes,) = database.execute("SELECT total(bytes) FROM answers").fetchone()
        over = n_bytes - self._max_bytes
        while over > 0:
            key, size = database.execute(
                "SELECT key, bytes FROM answers ORDER BY used_s LIMIT 1"
            ).fetchone()
            database.execute("DELETE FROM answers WHERE key = ?", (key,))
            over -= size

    def _failed(self, error: Exception) -> None:
        self.failures += 1
        _log.warning("the gateway's cache failed: %s", error)


def key_of(made_for: str, body: Mapping[str, Any]) -> bytes:
    """What a request's answer is kept under. `made_for` is what it depends on besides its body."""
    content = orjson.dumps([made_for, body], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(content).digest()
