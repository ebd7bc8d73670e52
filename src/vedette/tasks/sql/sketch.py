"""A database that is only its CREATE statements: enough to write SQL for, and to plan it."""

from __future__ import annotations

import sqlite3
import time

from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from vedette.errors import InputError

from .database import Database

MAX_CREATE_SECONDS = 5.0
_MAX_BYTES = 1_000_000  # of a text or a statement
_STEPS = 10_000  # virtual machine instructions between two looks at the clock

_CREATES = frozenset(
    {
        sqlite3.SQLITE_CREATE_TABLE,
        sqlite3.SQLITE_CREATE_INDEX,
        sqlite3.SQLITE_CREATE_VIEW,
        # what these do themselves
        sqlite3.SQLITE_TRANSACTION,
        sqlite3.SQLITE_REINDEX,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_READ,
    }
)
_OF_CATALOGUE = frozenset({sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE})


class Sketch(Database):
    """Empty tables, views and indexes in SQLite's words, in memory, made anew for each connection.

    The statements may come from anybody: all but CREATE TABLE, VIEW and INDEX are refused, so that
    no file is attached and no time is spent. Raises `InputError` for others.
    """

    def __init__(self, statements: str) -> None:
        self.dialect = "sqlite"
        self.shown = "of these statements"
        _create(statements).close()
        self._engine = create_engine(
            "sqlite://", creator=lambda: _create(statements), poolclass=NullPool
        )


def _create(statements: str) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_BYTES)
    deadline = time.monotonic() + MAX_CREATE_SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
    connection.set_authorizer(_only_create)
    try:
        connection.executescript(statements)
    except sqlite3.Error as error:
        connection.close()
        raise InputError(
            f"the tables cannot be made: {error}",
            hint="give CREATE TABLE, CREATE VIEW and CREATE INDEX statements of SQLite",
        ) from error
    connection.set_authorizer(None)
    connection.execute("PRAGMA query_only = ON")
    return connection


def _only_create(action: int, first: str | None, *_: str | None) -> int:
    """See `sqlite3.Connection.set_authorizer`."""
    in_catalogue = action in _OF_CATALOGUE and (first or "").startswith("sqlite_")
    return sqlite3.SQLITE_OK if action in _CREATES or in_catalogue else sqlite3.SQLITE_DENY
