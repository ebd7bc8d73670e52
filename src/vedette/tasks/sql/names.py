"""How a name is written in a statement: bare where that is safe, else quoted."""

from __future__ import annotations

import re
from functools import lru_cache

import sqlglot
from sqlalchemy.dialects.postgresql.base import PGIdentifierPreparer
from sqlalchemy.dialects.sqlite.base import SQLiteIdentifierPreparer
from sqlglot import exp
from sqlglot.errors import SqlglotError

from .schema import Dialect

_BARE = {
    "sqlite": re.compile(r"[A-Za-z_][A-Za-z0-9_]*"),
    "postgres": re.compile(r"[a-z_][a-z0-9_]*"),
}
_RESERVED = {
    "sqlite": SQLiteIdentifierPreparer.reserved_words,
    "postgres": PGIdentifierPreparer.reserved_words,
}
# What begins something else where an item or a condition may stand.
_KEYWORDS = frozenset(("count", "sum", "avg", "min", "max", "distinct", "true", "false", "null"))


@lru_cache(maxsize=10_000)
def written(name: str, dialect: Dialect) -> str:
    """The name as it stands in a statement of this dialect."""
    lower = name.lower()
    reserved = lower in _RESERVED[dialect] or lower in _KEYWORDS
    if _BARE[dialect].fullmatch(name) and not reserved and _is_column(name, dialect):
        return name
    return exp.to_identifier(name, quoted=True).sql(dialect=dialect)


def _is_column(name: str, dialect: Dialect) -> bool:
    """Whether the parser, too, takes the bare word for a name wherever one may stand."""
    try:
        tree = sqlglot.parse_one(f"SELECT {name}, {name}.{name} FROM {name}", dialect=dialect)
    except SqlglotError:
        return False
    columns = tree.expressions
    return all(isinstance(column, exp.Column) and column.name == name for column in columns)
