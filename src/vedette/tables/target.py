"""Which table of which database: a URL with `?table=NAME`."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from vedette.errors import InputError

DEFAULT_TABLE = "results"
MOST_NAME_BYTES = 63 - len("_errors")
"""PostgreSQL cuts longer names without a word."""


@dataclass(frozen=True, slots=True)
class Target:
    """A database and the name of a table in it; `shown` is the database without a password."""

    url: URL
    table: str
    shown: str

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a SQLite file, else it is PostgreSQL."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def journal(self) -> str:
        """Where the journal of a job goes that has no other output."""
        name = f"{self.table}.journal".replace("/", "_")
        return f"{self.url.database}.{name}" if self.is_sqlite else name


def parse_target(place: str) -> Target:
    """The target of `--into`. Raises `InputError`."""
    try:
        url = make_url(place)
    except ArgumentError as error:
        raise InputError(
            "--into takes a URL like sqlite:///FILE?table=NAME or "
            "postgresql+psycopg://USER@HOST/NAME?table=NAME"
        ) from error
    table = url.query.get("table", DEFAULT_TABLE)
    if not isinstance(table, str):
        raise InputError("--into names its table twice")
    url = url.difference_update_query(["table"])
    target = Target(url, checked_name(table, "table"), url.render_as_string(hide_password=True))
    match url.get_backend_name():
        case "sqlite":
            _check_sqlite(url, table)
        case "postgresql":
            pass
        case other:
            raise InputError(
                f"--into writes to SQLite and PostgreSQL, and the database is {other}",
                hint="give a URL that begins with sqlite:/// or postgresql+psycopg://",
            )
    return target


def checked_name(name: str, what: str) -> str:
    """The name, if both databases can have it. Raises `InputError`."""
    if not name or "\0" in name or any("\ud800" <= char <= "\udfff" for char in name):
        raise InputError(f"{name!r} cannot be the name of a {what}")
    if len(name.encode()) > MOST_NAME_BYTES:
        raise InputError(
            f"the {what} name {name[:40]}... has more than {MOST_NAME_BYTES} bytes",
            hint="shorten it",
        )
    return name


def _check_sqlite(url: URL, table: str) -> None:
    if not url.database or url.database == ":memory:":
        raise InputError("--into a SQLite database needs its file: sqlite:///FILE")
    if url.query:
        raise InputError(
            f"--into: {next(iter(url.query))!r} is no option of a SQLite URL here",
            hint="table is the only one",
        )
    if table.lower().startswith("sqlite_"):
        raise InputError(f"SQLite keeps names that begin with sqlite_ to itself: {table}")
