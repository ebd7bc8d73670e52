"""The ledger: a row for each request, of who answered and what that took. No text of any prompt."""

from __future__ import annotations

import logging
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Engine,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    event,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from vedette.errors import CapabilityMissing, FileError, InputError, LedgerFailed

from .passage import OK, Passage

BUSY_TIMEOUT_S = 10.0

_log = logging.getLogger(__name__)

_metadata = MetaData()
requests = Table(
    "vedette_requests",
    _metadata,
    Column("id", Integer, primary_key=True),
    Column("at_s", Float, nullable=False, index=True),  # seconds since 1970, UTC
    Column("route", String(200), nullable=False),
    Column("tier", String(200), nullable=False),
    Column("model", String(200), nullable=False),
    Column("reason", Text, nullable=False),
    Column("guard", String(200), nullable=False),
    Column("cache", String(8), nullable=False),
    Column("prompt_tokens", Integer, nullable=False),
    Column("completion_tokens", Integer, nullable=False),
    Column("estimated", Boolean, nullable=False),
    Column("hidden", Integer, nullable=False),
    Column("cut_tokens", Integer, nullable=False),
    Column("cost", Float, nullable=False),
    Column("saved", Float, nullable=False),
    Column("ms", Float, nullable=False),
    Column("outcome", String(60), nullable=False),
)


@dataclass(frozen=True, slots=True)
class Sums:
    """The requests of one route and tier, added up. Money is in whatever currency prices are."""

    route: str
    tier: str
    requests: int
    unanswered: int
    cached: int
    prompt_tokens: int
    completion_tokens: int
    cost: float
    saved: float
    mean_ms: float


class Ledger:
    """Rows in a database that `url` names. One thread writes them, in the order of the requests.

    Without `require` a row that cannot be written is a line in the log, and counted in `lost`; the
    request goes on. Raises `InputError` for a URL that is none, `CapabilityMissing` without its
    driver, `FileError` for a database that cannot be opened.
    """

    def __init__(self, url: str, *, require: bool = False) -> None:
        self.require = require
        self.lost = 0
        self._engine = _opened(url)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="vedette-ledger")

    def begin(self, passage: Passage) -> Future[None]:
        """Write its row, done once the future is.

        With `require` the future raises `LedgerFailed` where that cannot be: the request is to be
        refused then, before it has cost anything.
        """
        return self._thread.submit(self._begin, passage)

    def end(self, passage: Passage) -> None:
        """Have its row completed. Returns at once, so that it may be called while all ends."""
        values = _values(passage)
        self._thread.submit(self._end, passage, values)

    def sums(self, since_s: float = 0.0) -> list[Sums]:
        """Added up by route and tier, from a time on. Raises `LedgerFailed`."""
        unanswered = func.sum((requests.c.outcome != OK).cast(Integer))
        cached = func.sum((requests.c.cache == "hit").cast(Integer))
        query = (
            select(
                requests.c.route,
                requests.c.tier,
                func.count(),
                unanswered,
                cached,
                func.sum(requests.c.prompt_tokens),
                func.sum(requests.c.completion_tokens),
                func.sum(requests.c.cost),
                func.sum(requests.c.saved),
                func.avg(requests.c.ms),
            )
            .where(requests.c.at_s >= since_s)
            .group_by(requests.c.route, requests.c.tier)
            .order_by(requests.c.route, requests.c.tier)
        )
        return [Sums(*row) for row in self._read(query)]

    def last(self, n: int, since_s: float = 0.0) -> list[dict[str, Any]]:
        """The latest rows, the newest first. Raises `LedgerFailed`."""
        query = (
            select(requests)
            .where(requests.c.at_s >= since_s)
            .order_by(requests.c.id.desc())
            .limit(n)
        )
        return [dict(row._mapping) for row in self._read(query)]

    def close(self) -> None:
        """Write what is under way, and close the database."""
        self._thread.shutdown(wait=True)
        self._engine.dispose()

    def _begin(self, passage: Passage) -> None:
        try:
            with self._engine.begin() as connection:
                row = connection.execute(insert(requests).values(_values(passage)))
                passage.row = row.inserted_primary_key[0] if row.inserted_primary_key else None
        except SQLAlchemyError as error:
            if self.require:
                raise LedgerFailed(
                    f"the ledger cannot be written, and no request goes on without it: "
                    f"{_reason(error)}"
                ) from error
            _log.warning("a request has no row in the ledger yet: %s", _reason(error))

    def _end(self, passage: Passage, values: dict[str, Any]) -> None:
        change = (
            insert(requests)
            if passage.row is None
            else update(requests).where(requests.c.id == passage.row)
        )
        try:
            with self._engine.begin() as connection:
                connection.execute(change.values(values))
        except SQLAlchemyError as error:
            self.lost += 1
            _log.error("the ledger lacks the end of a request: %s", _reason(error))

    def _read(self, query: Any) -> list[Any]:
        """In the thread that writes, so that what has ended is seen."""

        def read() -> list[Any]:
            try:
                with self._engine.connect() as connection:
                    return list(connection.execute(query))
            except SQLAlchemyError as error:
                raise LedgerFailed(f"the ledger cannot be read: {_reason(error)}") from error

        return self._thread.submit(read).result()


def _values(passage: Passage) -> dict[str, Any]:
    return {
        "at_s": passage.at_s,
        "route": passage.route,
        "tier": passage.tier,
        "model": passage.model,
        "reason": passage.reason,
        "guard": passage.guard,
        "cache": passage.cache,
        "prompt_tokens": passage.usage.prompt_tokens,
        "completion_tokens": passage.usage.completion_tokens,
        "estimated": passage.is_estimated,
        "hidden": passage.hidden,
        "cut_tokens": passage.cut_tokens,
        "cost": passage.cost,
        "saved": passage.saved,
        "ms": passage.ms,
        "outcome": passage.outcome,
    }


def _opened(place: str) -> Engine:
    url = _url(place)
    shown = url.render_as_string(hide_password=True)
    try:
        if url.get_backend_name() == "sqlite":
            engine = _sqlite(url)
        else:
            engine = create_engine(url, pool_pre_ping=True, pool_size=1)
        _metadata.create_all(engine)
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise CapabilityMissing(
            f"the driver of the ledger {shown} is not installed",
            hint="pip install 'vedette[postgres]'",
        ) from error
    except SQLAlchemyError as error:
        raise FileError(f"cannot open the ledger {shown}: {_reason(error)}") from error
    return engine


def _url(place: str) -> URL:
    try:
        url = make_url(place)
    except ArgumentError as error:
        raise InputError(
            "the ledger's url is none",
            hint="sqlite:///FILE, or postgresql://USER@HOST/NAME",
        ) from error
    if url.get_backend_name() == "postgresql" and url.drivername == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        raise InputError(
            f"the ledger is kept in SQLite or PostgreSQL, not in {url.get_backend_name()}"
        )
    return url


def _sqlite(url: URL) -> Engine:
    if not url.database:
        raise InputError("the ledger's url names no file", hint="write sqlite:///FILE")
    try:
        Path(url.database).expanduser().parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder of {url.database}: {error.strerror}") from error
    engine = create_engine(url, connect_args={"timeout": BUSY_TIMEOUT_S})

    @event.listens_for(engine, "connect")
    def _(connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")  # who reads does not wait for who writes
        cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.close()

    return engine


def _reason(error: SQLAlchemyError) -> str:
    """What the driver said, in a line."""
    said = str(getattr(error, "orig", None) or error).strip()
    return said.split("\n", 1)[0]
