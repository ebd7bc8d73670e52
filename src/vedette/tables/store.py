"""Writes answers into a table and errors into another, by the hash of what they are about."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import orjson
from sqlalchemy import (
    Connection,
    Engine,
    MetaData,
    Table,
    bindparam,
    create_engine,
    delete,
    event,
    func,
    select,
)
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.exc import (
    DBAPIError,
    InterfaceError,
    OperationalError,
    SQLAlchemyError,
    StatementError,
)
from sqlalchemy.pool import NullPool

from vedette.errors import CapabilityMissing, FileError
from vedette.types import Json

from .columns import Column, stored
from .definition import AT, ID, KEY, answers_table, errors_table
from .existing import ensure
from .target import Target

BATCH_ROWS = 200
COMMIT_EVERY_S = 2.0
"""A transaction has so many rows or takes so long; what a crash loses of it is put again."""


class TableStore:
    """Implements `Sink`: upserts by hash, so that the same results can be put again and again.

    Beside `NAME`, the table of answers, stands `NAME_errors` with the rows that have none, and
    those whose answer the table cannot hold. A row that gets an answer leaves the errors; one that
    gets an error keeps an earlier answer. Both are kept in one transaction.
    """

    def __init__(self, target: Target, columns: Sequence[Column]) -> None:
        self.target = target
        self._columns = tuple(columns)
        self._told = ""
        self._rows: dict[str, dict[str, object]] = {}
        self._failed: dict[str, dict[str, object]] = {}
        self._begun_s = time.monotonic()
        metadata = MetaData()
        self._table = answers_table(target.table, self._columns, metadata)
        self._errors = errors_table(target.table, metadata)
        self._engine = _engine(target)
        try:
            with self._engine.begin() as connection:
                for table in (self._table, self._errors):
                    ensure(connection, table, target.shown)
        except SQLAlchemyError as error:
            raise self._unusable(error) from error

    @property
    def notes(self) -> list[str]:
        """See `Sink`."""
        return [self._told] if self._told else []

    def put(self, row_id: str, content_sha256: str, body: bytes) -> None:
        """See `Sink`."""
        line = orjson.loads(body)
        self._rows.pop(content_sha256, None)
        self._failed.pop(content_sha256, None)
        if line["ok"]:
            try:
                self._rows[content_sha256] = self._row(row_id, content_sha256, line)
            except ValueError as error:
                self._fail(row_id, content_sha256, "not_storable", str(error), None, line["value"])
        else:
            told = line["error"]
            code, message, hint = told["code"], told["message"], told.get("hint")
            self._fail(row_id, content_sha256, code, message, hint)
        n_waiting = len(self._rows) + len(self._failed)
        if n_waiting >= BATCH_ROWS or time.monotonic() - self._begun_s >= COMMIT_EVERY_S:
            self._commit()

    def finish(self) -> None:
        """See `Sink`. What is told then is how many rows there are, those of other jobs too."""
        self._commit()
        rows, errors = self._counted()
        noun = "row" if rows == 1 else "rows"
        self._told = f"the table {self._table.name} of {self.target.shown} has {rows:,} {noun}"
        if errors:
            self._told += f", {self._errors.name} {errors:,}"

    def _counted(self) -> tuple[int, int]:
        counts = [select(func.count()).select_from(one) for one in (self._table, self._errors)]
        try:
            with self._engine.begin() as connection:
                rows, errors = (connection.execute(count).scalar_one() for count in counts)
        except SQLAlchemyError as error:
            raise self._unusable(error) from error
        return rows, errors

    def close(self) -> None:
        """See `Sink`."""
        self._engine.dispose()

    def _row(self, row_id: str, content_sha256: str, line: dict[str, Any]) -> dict[str, object]:
        value = line["value"]
        if not isinstance(value, dict):
            raise ValueError(f"the answer is {'empty' if value is None else 'no object'}")
        unknown = value.keys() - {column.name for column in self._columns}
        if unknown:
            raise ValueError(f"the answer has {sorted(unknown)[0]!r}, for which there is no column")
        picture = line.get("picture", {})
        return {
            KEY: content_sha256,
            ID: row_id,
            "read_by": picture.get("read_by"),
            "confidence": picture.get("confidence"),
            AT: datetime.now(UTC),
            **{
                f"c{i}": stored(value.get(column.name), column)
                for i, column in enumerate(self._columns)
            },
        }

    def _fail(
        self, row_id: str, key: str, code: str, message: str, hint: str | None, value: Json = None
    ) -> None:
        """Nothing of an error row can be refused: its texts are without what no column takes."""
        self._failed[key] = {
            KEY: key,
            ID: _without_nul(row_id),
            "code": code,
            "message": _without_nul(message),
            "hint": hint and _without_nul(hint),
            "value": None if value is None else json.dumps(value, default=str),
            AT: datetime.now(UTC),
        }

    def _commit(self) -> None:
        """Write what waits, in one transaction."""
        self._begun_s = time.monotonic()
        if not self._rows and not self._failed:
            return
        try:
            with self._engine.begin() as connection:
                self._write_rows(connection)
                if self._failed:
                    self._upsert(connection, self._errors, [*self._failed.values()])
        except SQLAlchemyError as error:
            raise self._unusable(error) from error
        self._rows.clear()
        self._failed.clear()

    def _write_rows(self, connection: Connection) -> None:
        """All at once; where the database refuses one, one by one, and that one is an error."""
        if not self._rows:
            return
        try:
            with connection.begin_nested():
                self._upsert(connection, self._table, [*self._rows.values()])
        except StatementError as error:
            if _is_about_connection(error):
                raise
            for key, row in list(self._rows.items()):
                self._write_row(connection, key, row)
        done = [{"done": key} for key in self._rows]
        if done:
            errors = self._errors
            connection.execute(delete(errors).where(errors.c[KEY] == bindparam("done")), done)

    def _write_row(self, connection: Connection, key: str, row: dict[str, object]) -> None:
        try:
            with connection.begin_nested():
                self._upsert(connection, self._table, [row])
        except StatementError as error:
            if _is_about_connection(error):
                raise
            del self._rows[key]
            value: dict[str, Any] = {
                column.name: row[f"c{i}"] for i, column in enumerate(self._columns)
            }
            self._fail(str(row[ID]), key, "not_storable", _reason(error), None, value)

    def _upsert(self, connection: Connection, table: Table, rows: list[dict[str, object]]) -> None:
        insert = sqlite_insert if self.target.is_sqlite else postgres_insert
        statement = insert(table)
        others = {
            column: statement.excluded[column.key]
            for column in table.columns
            if not column.primary_key
        }
        statement = statement.on_conflict_do_update(index_elements=[table.c[KEY]], set_=others)
        connection.execute(statement, rows)

    def _unusable(self, error: SQLAlchemyError) -> FileError:
        return FileError(
            f"cannot write to {self.target.shown}: {_reason(error)}",
            hint="answers are kept in the journal: the same command goes on",
        )


def _engine(target: Target) -> Engine:
    try:
        engine = create_engine(target.url, poolclass=NullPool)
    except ImportError as error:
        raise CapabilityMissing(
            f"the driver for {target.url.drivername} is not installed: {error}",
            hint="pip install 'vedette[postgres]', and write postgresql+psycopg://...",
        ) from error
    if target.is_sqlite:
        # Python's sqlite3 begins transactions late, and not for savepoints and tables; so we do.
        @event.listens_for(engine, "connect")
        def leave_it_to_us(connection: Any, _record: object) -> None:
            connection.isolation_level = None

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def _is_about_connection(error: StatementError) -> bool:
    """Whether it is about the database as a whole, and not about a row."""
    if isinstance(error, OperationalError | InterfaceError):
        return True
    return isinstance(error, DBAPIError) and error.connection_invalidated


def _without_nul(text: str) -> str:
    return text.replace("\0", "\\0")


def _reason(error: SQLAlchemyError) -> str:
    """What the driver said, in a line."""
    said = str(getattr(error, "orig", None) or error).strip()
    return said.split("\n", 1)[0]
