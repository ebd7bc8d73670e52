"""The grammar of SELECT statements over one database, as llguidance's Lark with parameters.

A statement names columns before the tables that they come from. So each rule carries 64 bits (see
`Bits`): the select list notes which sources it *needs*, the FROM must bring all of them in by
joins that exist, and what follows may name only what is in. A source can be named only if joins
connect it with those named before, so that no beginning of a statement is without an end.

A column is written `table.column`, or bare where that can mean one thing only. A bare name that
several tables have settles, in the select list, that the FROM is this one table alone.

PostgreSQL holds more to account than SQLite does. There, grouped statements group by the numbers
of their plain items (`GROUP BY 1, 2`), what is ordered by is in the select list where that is
DISTINCT or grouped, both sides of a UNION are one column of one kind, and a subquery that a value
is compared with has one row at most: an aggregate, or LIMIT 1.
"""

from __future__ import annotations

from functools import lru_cache

from vedette.engine.constraint.verbatim import lark_literal
from vedette.errors import InputError

from .bits import MAX_SOURCES, Bits
from .clauses import write_from, write_groups, write_tail
from .columns import write_columns
from .conditions import write_where
from .literals import DATE, LIMIT, NUMBER, STRING, quoted, span_terminals
from .rules import Rules
from .schema import Schema
from .select_list import write_select_list
from .sources import sources_of


def grammar_of(schema: Schema, question: str | None = None) -> str:
    """The Lark text. Raises `InputError` for a schema with nothing to select from.

    With a `question`, string literals are spans of it or values that the schema knows; without,
    any strings.
    """
    return _statements(schema) + "\n".join(_strings(schema, question)) + "\n"


@lru_cache(maxsize=64)
def _statements(schema: Schema) -> str:
    if not any(table.columns for table in schema.tables):
        raise InputError("the database has no table with columns, so nothing can be asked of it")
    sources = sources_of(schema, MAX_SOURCES)
    bits, strict = Bits(len(sources.sources)), schema.dialect == "postgres"
    rules = Rules()
    rules.add("start", f"select::{bits.value()}")
    rules.add("start", f'"SELECT " "COUNT(*)"i " FROM " "(" select::{bits.value()} ") AS T1"')
    columns = write_columns(rules, sources, bits, schema.dialect)
    write_select_list(rules, sources, columns, bits, strict=strict)
    write_from(rules, sources, bits, schema.dialect)
    write_where(rules, columns, bits, strict=strict)
    write_groups(rules, columns, bits, strict=strict)
    write_tail(rules, columns, bits, strict=strict)
    rules.line(f"NUMBER: /{NUMBER}/")
    rules.line(f"LIMIT: /{LIMIT}/")
    rules.line(f"DATE: /{DATE}/")
    return str(rules)


def _strings(schema: Schema, question: str | None) -> list[str]:
    """`string` and `pattern`, the right sides of = and LIKE."""
    if question is None:
        return [f"STRING: /{STRING}/", "string: STRING", "pattern: STRING"]
    values = {v: None for t in schema.tables for c in t.columns for v in c.values}
    known = [lark_literal(quoted(value)) for value in values]
    spans = span_terminals(question)
    strings = [*(["SPAN"] if spans else []), *known] or [f"/{STRING}/"]
    patterns = [*(["SPAN_LIKE"] if spans else []), *known] or [f"/{STRING}/"]
    return [*spans, f"string: {' | '.join(strings)}", f"pattern: {' | '.join(patterns)}"]
