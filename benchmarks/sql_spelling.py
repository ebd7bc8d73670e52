"""A statement of a data set in the one spelling that vedette's SQL grammar has.

What is changed is spelling alone: capitals, quotes, aliases in place of table names, which columns
carry their table, numbers in quotes, the order of NOT and IN. What a statement says stays as it is.
"""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp

from vedette.tasks.sql.bits import MAX_SOURCES
from vedette.tasks.sql.names import written
from vedette.tasks.sql.schema import Column, Schema, Table
from vedette.tasks.sql.sources import sources_of

_NOT = re.compile(r"\bNOT (\S+) (IN|LIKE|BETWEEN)\b")
_NOT_NULL = re.compile(r"\bNOT (\S+) IS NULL\b")


def parsed(query: str) -> exp.Expression:
    """The tree of a statement of the data set, in which double quotes hold strings."""
    plain = query.strip().removesuffix(";").strip().replace('"', "'").replace("! =", "!=")
    return sqlglot.parse_one(plain, dialect="sqlite")


def respelt(query: str, schema: Schema) -> str:
    """The statement as the grammar would have it written, if it can say it at all."""
    tree = parsed(query)
    for select in tree.find_all(exp.Select):
        _respell(select, schema)
    for derived in tree.find_all(exp.Subquery):
        if isinstance(derived.parent, exp.From):
            derived.set("alias", exp.TableAlias(this=exp.to_identifier("T1")))
    text = tree.sql(dialect="sqlite").replace(" <> ", " != ").replace(" INNER JOIN ", " JOIN ")
    return _NOT_NULL.sub(r"\1 IS NOT NULL", _NOT.sub(r"\1 NOT \2", text))


def _respell(select: exp.Select, schema: Schema) -> None:
    tables = [t for t in select.find_all(exp.Table) if t.find_ancestor(exp.Select) is select]
    names: dict[str, tuple[str, Table]] = {}
    for node in tables:
        table = next((t for t in schema.tables if t.name.lower() == node.name.lower()), None)
        if table is None:
            return
        used = {name for name, _ in names.values()}
        name = table.name if table.name not in used else _second(schema, table)
        names[(node.alias or node.name).lower()] = (name, table)
        node.set("this", _identifier(table.name))
        node.set("alias", exp.TableAlias(this=exp.to_identifier(name)) if name in used else None)
        if name != table.name:
            node.set("alias", exp.TableAlias(this=exp.to_identifier(name)))
    for column in list(select.find_all(exp.Column)):
        if column.find_ancestor(exp.Select) is not select:
            continue
        owner = _owner(column, names)
        if owner is None:
            continue
        name, found = owner
        column.set("this", _identifier(found.name))
        column.set("table", _identifier(name) if len(tables) > 1 else None)
        _respell_literals(column, found)


def _second(schema: Schema, table: Table) -> str:
    aliases = (s for s in sources_of(schema, MAX_SOURCES).sources if s.is_alias)
    return next((s.name for s in aliases if s.table.name == table.name), "T9")


def _owner(column: exp.Column, names: dict[str, tuple[str, Table]]) -> tuple[str, Column] | None:
    places = [names[column.table.lower()]] if column.table.lower() in names else names.values()
    for name, table in places:
        if found := table.column(column.name):
            return name, found
    return None


def _respell_literals(column: exp.Column, found: Column) -> None:
    beside = column.parent
    if isinstance(beside, exp.Predicate | exp.Binary | exp.In | exp.Between):
        for literal in list(beside.find_all(exp.Literal)):
            if literal.parent is not beside:
                continue
            numeric = re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", literal.this)
            if found.kind == "number" and literal.is_string and numeric:
                literal.replace(exp.Literal.number(literal.this))
            elif found.kind == "text" and not literal.is_string:
                literal.replace(exp.Literal.string(literal.this))


def _identifier(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=written(name, "sqlite") != name)
