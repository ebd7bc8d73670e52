"""Answers as rows of a database table, its columns typed by the JSON Schema.

`open_store` is the way in; it needs the extra `sql`, and `postgres` for PostgreSQL.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from vedette.errors import CapabilityMissing

if TYPE_CHECKING:
    from .store import TableStore

__all__ = ["open_store"]


def open_store(place: str, schema: dict[str, Any]) -> TableStore:
    """The table that a URL such as `sqlite:///FILE?table=NAME` names, ready for answers.

    It is created if it is not there. Raises `InputError` for a URL or a schema that names no table,
    and for a table that is there and does not fit the schema; `FileError` for a database that
    cannot be opened; `CapabilityMissing` without SQLAlchemy or the driver.
    """
    if find_spec("sqlalchemy") is None:
        raise CapabilityMissing("tables need SQLAlchemy", hint="pip install 'vedette[sql]'")
    from .columns import columns_of
    from .store import TableStore
    from .target import parse_target

    return TableStore(parse_target(place), columns_of(schema))
