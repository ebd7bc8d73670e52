"""Rules for FROM, GROUP BY, HAVING, ORDER BY, LIMIT, and what joins two SELECTs."""

from __future__ import annotations

from vedette.engine.constraint.verbatim import lark_literal

from .bits import MAX_ITEMS, STAR, WANTED, Bits, all_of, any_of
from .columns import Columns
from .names import written
from .rules import SAME, Rules
from .schema import Dialect
from .sources import Join, Sources

MAX_TABLES = 4
"""Tables of one FROM, unless the select list names more."""

MAX_SET_ITEMS = 3


def write_from(rules: Rules, sources: Sources, bits: Bits, dialect: Dialect) -> None:
    """`from::_` up to where `where::_` goes on: every source that is needed, then it is done."""
    n = len(sources.sources)
    rules.add("joins::_", "where::_", f"is_zeros({bits.needs})")
    rules.add("join", '" JOIN " | " LEFT JOIN "')
    for i, source in enumerate(sources.sources):
        rules.add(f"in{i}::_", f"{SAME} joins::set_bit({bits.present(i)})")
        if source.is_alias:
            continue
        low, high = sources.parts[i]
        condition = all_of(
            f"is_zeros([0:{low}])" if low else "",
            f"is_zeros([{high}:{n}])" if high < n else "",
            any_of(f"bit_clear({bits.alone})", f"bit_set({bits.needed(i)})"),
        )
        name = lark_literal(written(source.name, dialect))
        rules.add("from::_", f"{name} in{i}::clear_bit({bits.needed(i)})", condition)
    room = any_of(f"bit_count_lt({bits.presents}, {MAX_TABLES})", f"not(is_zeros({bits.needs}))")
    for join in sources.joins:
        for new, old in ((join.one, join.other), (join.other, join.one)):
            condition = all_of(
                f"bit_set({bits.present(old)})",
                f"bit_clear({bits.present(new)})",
                f"bit_clear({bits.alone})",
                room,
            )
            for text in _joined(sources, dialect, join, new):
                goes_on = f"in{new}::clear_bit({bits.needed(new)})"
                rules.add("joins::_", f"join {lark_literal(text)} {goes_on}", condition)


def _joined(sources: Sources, dialect: Dialect, join: Join, new: int) -> list[str]:
    """What follows JOIN: the new table, and its ON with either side first."""
    source = sources.sources[new]
    table = written(source.table.name, dialect)
    called = f"{table} AS {source.name}" if source.is_alias else table
    return [f"{called} ON {text}" for text in _conditions(sources, dialect, join)]


def _conditions(sources: Sources, dialect: Dialect, join: Join) -> list[str]:
    """The ON of a join, either side first."""

    def column(source: int, name: str) -> str:
        return f"{written(sources.sources[source].name, dialect)}.{written(name, dialect)}"

    sides = [(column(join.one, a), column(join.other, b)) for a, b in join.pairs]
    return [
        " AND ".join(f"{a} = {b}" for a, b in sides),
        " AND ".join(f"{b} = {a}" for a, b in sides),
    ]


def write_groups(rules: Rules, columns: Columns, bits: Bits, *, strict: bool) -> None:
    """`group::_` up to where `tail::_` goes on, and the aggregates of HAVING and ORDER BY."""
    grouped = f"having::set_bit({bits.grouped})"
    by_column = '" GROUP BY " ce::_ (", " ce::_){0,2} ' + grouped
    can_group = "ce::_" in rules
    no_plains = f"is_zeros({bits.plains})"
    # SQLite would take the plain item from any one row, which is hardly ever what was asked.
    rules.add("group::_", "tail::_", any_of(f"bit_clear({bits.aggregated})", no_plains))
    if strict:
        clear = f"bit_clear({bits.opaque})"
        by_number = f'" GROUP BY " first1::_ {grouped}'
        rules.add("group::_", by_number, all_of(f"not({no_plains})", clear))
        if can_group:
            rules.add("group::_", by_column, all_of(no_plains, clear))
        _write_numbers(rules, bits)
    elif can_group:
        rules.add("group::_", by_column)
    rules.add("having::_", "tail::_")
    rules.add("having::_", '" HAVING " total_is::_ (" AND " total_is::_)? tail::_')
    rules.add("total_is::_", "total::_ compare (NUMBER | one1::_)")
    rules.add("total_is::_", 'total::_ " BETWEEN " NUMBER " AND " NUMBER')
    rules.add("total::_", '"COUNT(*)"i')
    if can_group:
        rules.add("total::_", '"COUNT("i "DISTINCT "? ce::_ ")"')
    for k in "na":
        if k in columns.kinds:
            rules.add("total::_", f'("SUM("i | "AVG("i | "MIN("i | "MAX("i) c{k}::_ ")"')


def _write_numbers(rules: Rules, bits: Bits) -> None:
    """`first1::_`: the places of all plain items, in order."""
    for at in range(1, MAX_ITEMS + 1):
        is_plain, no_plain = f"bit_set({bits.plain(at)})", f"bit_clear({bits.plain(at)})"
        rest = f"more{at + 1}::_" if at < MAX_ITEMS else ""
        rules.add(f"first{at}::_", f'"{at}" {rest}', is_plain)
        if rest:
            rules.add(f"first{at}::_", f"first{at + 1}::_", no_plain)
        if at > 1:
            rules.add(f"more{at}::_", f'", {at}" {rest}', is_plain)
            rules.add(f"more{at}::_", rest or '""', no_plain)


def write_tail(rules: Rules, columns: Columns, bits: Bits, *, strict: bool) -> None:
    """`tail::_`: the end of a SELECT, in order or cut, or another SELECT after it."""
    free = f"bit_clear({bits.last})"
    order = '" ORDER BY " key::_ direction (", " key::_ direction)?'
    if strict:
        total = all_of(f"bit_set({bits.aggregated})", f"bit_clear({bits.grouped})")
        rules.add("tail::_", '""', any_of(free, f"is_zeros({bits.depth})", total))
        single = all_of(f"bit_set({bits.single})", f"not(is_zeros({bits.depth}))")
        rules.add("tail::_", '" LIMIT 1"', single)
        rules.add("tail::_", f'{order} " LIMIT 1"', single)
    else:
        rules.add("tail::_", '""')
    rules.add("tail::_", "limit", free)
    rules.add("tail::_", f"{order} limit?", free)
    rules.add("tail::_", "second::_", all_of(free, f"is_zeros({bits.depth})"))
    rules.add("direction", '(" ASC" | " DESC")?')
    rules.add("limit", '" LIMIT " LIMIT')
    _write_keys(rules, columns, bits, strict=strict)
    rules.add("set", '" UNION " | " INTERSECT " | " EXCEPT "')
    rules.add("end", '(" ORDER BY " "1" direction)? limit?')
    for count in range(1, 2 if strict else MAX_SET_ITEMS + 1):
        for wanted in sorted({*WANTED.values()} - {0, 7}) if strict else [0]:
            other = f"select::{bits.value(bits.last, count=count, wanted=wanted)}"
            condition = all_of(
                f"eq({bits.count}, {count})", f"eq({bits.wanted}, {wanted})" if strict else ""
            )
            rules.add("second::_", f"set {other} (set {other})? end {SAME}", condition)


def _write_keys(rules: Rules, columns: Columns, bits: Bits, *, strict: bool) -> None:
    """`key::_`: what can be ordered by."""
    summed = any_of(f"bit_set({bits.grouped})", f"bit_set({bits.aggregated})")
    distinct = f"bit_clear({bits.distinct})" if strict else ""
    rules.add("key::_", "total::_", all_of(summed, distinct))
    if "co::_" in rules:
        flat = all_of(f"bit_clear({bits.grouped})", f"bit_clear({bits.aggregated})")
        rules.add("key::_", "co::_", all_of(flat, distinct) if strict else "")
    if strict:
        for at in range(1, 4):
            counted = all_of(f"ge({bits.count}, {at})", f"ne({bits.count}, {STAR})")
            clear = f"bit_clear({bits.opaque})"
            rules.add("key::_", f'"{at}"', all_of(counted, clear))
