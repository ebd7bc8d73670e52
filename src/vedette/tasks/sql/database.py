"""A live database, only ever read: what it says of a statement, and rows."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from vedette.errors import CapabilityMissing, ConstraintFailed, FileError, InputError
from vedette.types import Json

from .schema import Dialect

MAX_SECONDS = 30.0
"""A statement that runs longer is stopped, and that is an error."""

_SQLITE_STEPS = 10_000  # virtual machine instructions between two looks at the clock


@dataclass(frozen=True, slots=True)
class Rows:
    """What a statement returned, up to a limit; `more` says that there were more."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Json, ...], ...]
    more: bool


class Database:
    """Connections on which nothing can be written.

    Raises `InputError` for a URL that is none or of another kind of database, `FileError` for a
    file that is not there or is no SQLite database, `CapabilityMissing` without the driver.
    """

    def __init__(self, place: str) -> None:
        url = _url(place)
        self.dialect: Dialect = _dialect(url)
        self.shown = url.render_as_string(hide_password=True)
        if self.dialect == "sqlite":
            self.shown = url.database or ""
            self._engine = _sqlite(self.shown)
        else:
            self._engine = _postgres(url)
        with self.connect():  # so that what is wrong is said now
            pass

    @property
    def engine(self) -> Engine:
        """For reflection; use it within `connect`."""
        return self._engine

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """A read-only connection, rolled back at the end."""
        # Without `no_parameters`, drivers that write parameters as %s would read LIKE '%a%' so.
        try:
            connection = self._engine.connect().execution_options(no_parameters=True)
            if self.dialect == "sqlite":  # a file that is no database is found out on first use
                connection.exec_driver_sql("SELECT count(*) FROM sqlite_master")
        except SQLAlchemyError as error:
            raise FileError(f"cannot read the database {self.shown}: {reason_of(error)}") from error
        with connection:
            yield connection

    def explain(self, statement: str) -> None:
        """Have the database plan the statement. Raises `ConstraintFailed` if it will not."""
        with self.connect() as connection:
            try:
                connection.exec_driver_sql(f"EXPLAIN {statement}").fetchall()
            except SQLAlchemyError as error:
                raise ConstraintFailed(
                    f"the database does not accept the statement {statement}: {reason_of(error)}"
                ) from error

    def rows(self, statement: str, limit: int) -> Rows:
        """Run a statement. Raises `ConstraintFailed` if it fails or takes over `MAX_SECONDS`."""
        with self.connect() as connection:
            try:
                result = connection.exec_driver_sql(statement)
                found = result.fetchmany(limit + 1)
            except SQLAlchemyError as error:
                raise ConstraintFailed(
                    f"the database could not run the statement {statement}: {reason_of(error)}"
                ) from error
        rows = tuple(tuple(_as_json(cell) for cell in row) for row in found[:limit])
        return Rows(tuple(result.keys()), rows, more=len(found) > limit)


def reason_of(error: SQLAlchemyError) -> str:
    """What the driver said, in a line."""
    said = str(getattr(error, "orig", None) or error).strip()
    return said.split("\n", 1)[0]


def _url(place: str) -> URL:
    if "://" not in place:
        return URL.create("sqlite", database=place)
    try:
        return make_url(place)
    except ArgumentError as error:
        raise InputError(
            "the database is neither a file nor a URL like sqlite:///FILE or "
            "postgresql://USER@HOST/NAME"
        ) from error


def _dialect(url: URL) -> Dialect:
    match url.get_backend_name():
        case "sqlite":
            return "sqlite"
        case "postgresql":
            return "postgres"
        case other:
            raise InputError(
                f"sql reads SQLite and PostgreSQL, and the database is {other}",
                hint="give a SQLite file, or a URL that begins with postgresql://",
            )


def _sqlite(path: str) -> Engine:
    if not Path(path).is_file():
        raise FileError(f"there is no database file {path or '(no name)'}")
    address = f"file:{quote(str(Path(path).resolve()))}?mode=ro"

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(address, uri=True, check_same_thread=False)
        connection.execute("PRAGMA query_only = ON")
        deadline = time.monotonic() + MAX_SECONDS
        connection.set_progress_handler(lambda: time.monotonic() > deadline, _SQLITE_STEPS)
        return connection

    return create_engine("sqlite://", creator=connect, poolclass=NullPool)


def _postgres(url: URL) -> Engine:
    try:
        engine = create_engine(url, poolclass=NullPool)
    except (ImportError, NoSuchModuleError) as error:
        raise CapabilityMissing(
            f"the driver for {url.drivername} is not installed: {error}",
            hint="pip install psycopg, and write the URL as postgresql+psycopg://...",
        ) from error

    @event.listens_for(engine, "begin")
    def only_read(connection: Connection) -> None:
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
        connection.exec_driver_sql(f"SET LOCAL statement_timeout = {int(MAX_SECONDS * 1000)}")

    return engine


def _as_json(cell: object) -> Json:
    if cell is None or isinstance(cell, bool | int | float | str):
        return cell
    return cell.hex() if isinstance(cell, bytes) else str(cell)
