"""Rules for WHERE: typed comparisons, and subqueries of the kind that they are compared with."""

from __future__ import annotations

from .bits import WANTED, Bits
from .columns import Columns
from .rules import SAME, Rules

MAX_CONDITIONS = 4
MAX_DEPTH = 2
MAX_LISTED = 6

_SUBQUERY = {"n": WANTED["number"], "t": WANTED["text"], "d": WANTED["date"], "a": WANTED["any"]}
_LITERALS = {"n": "NUMBER", "t": "string", "d": "DATE", "a": "any"}


def write_where(rules: Rules, columns: Columns, bits: Bits, *, strict: bool) -> None:
    """`where::_` up to where `group::_` goes on, and the subqueries that HAVING uses too."""
    rules.add("where::_", "group::_")
    rules.add("where::_", f'" WHERE " conditions{MAX_CONDITIONS}::_ group::_')
    for left in range(1, MAX_CONDITIONS + 1):
        rules.add(f"conditions{left}::_", "condition::_")
        if left > 1:
            rest = f"conditions{left - 1}::_"
            rules.add(f"conditions{left}::_", f'condition::_ (" AND " | " OR ") {rest}')
    rules.add("condition::_", '"(" is::_ " OR " is::_ ")"')
    rules.add("condition::_", "is::_")
    rules.add("compare", '" = " | " != " | " > " | " < " | " >= " | " <= "')
    rules.add("among", '" IN " | " NOT IN "')
    rules.add("any", "NUMBER | string")
    for k in columns.kinds:
        rules.add("is::_", f"c{k}::_ is{k}::_")
        rules.add(f"is{k}::_", f'(" IS NULL" | " IS NOT NULL") {SAME}')
        if k in _LITERALS:
            _write_comparisons(rules, k)
    if "b" in columns.kinds:
        rules.add("isb::_", '" = " ("TRUE" | "FALSE")')
    for k in "ta":
        if k in columns.kinds:
            rules.add(f"is{k}::_", '(" LIKE " | " NOT LIKE ") pattern')
    for wanted in sorted({0, WANTED["number"], *_SUBQUERY.values()}):
        for depth in range(MAX_DEPTH):
            at = f"eq({bits.depth}, {depth})"
            for rule, flags in (("set", ()), ("one", (bits.single,) if strict else ())):
                inner = f"select::{bits.value(*flags, count=1, depth=depth + 1, wanted=wanted)}"
                rules.add(f"{rule}{wanted}::_", f'"(" {inner} ")" {SAME}', at)


def _write_comparisons(rules: Rules, k: str) -> None:
    literal, wanted = _LITERALS[k], _SUBQUERY[k]
    rules.add(f"is{k}::_", f"compare ({literal} | c{k}::_ | one{wanted}::_)")
    rules.add(f"is{k}::_", f"among set{wanted}::_")
    rules.add(f"is{k}::_", f'among "(" {literal} (", " {literal}){{0,{MAX_LISTED - 1}}} ")"')
    if k in "nda":
        rules.add(f"is{k}::_", f'(" BETWEEN " | " NOT BETWEEN ") {literal} " AND " {literal}')
