"""Rules for what stands between SELECT and FROM."""

from __future__ import annotations

from collections.abc import Iterator

from .bits import MAX_ITEMS, STAR, WANTED, Bits, all_of, any_of
from .columns import LETTERS, Columns
from .rules import Rules
from .sources import Sources

_WANTED = {letter: WANTED[kind] for kind, letter in LETTERS.items()}


def write_select_list(
    rules: Rules, sources: Sources, columns: Columns, bits: Bits, *, strict: bool
) -> None:
    """`select::_` up to where `from::_` goes on."""
    rules.add("select::_", '"SELECT " item1::_')
    rules.add("select::_", f'"SELECT " "DISTINCT " item1::set_bit({bits.distinct})')
    _write_ends(rules, bits)
    for i in range(len(sources.sources)):
        for bare in (False, True):
            of_kind = columns.bare if bare else columns.qualified
            for name, k, aggregate in _terms(rules, f"{'u' if bare else 'q'}{i}", of_kind(i)):
                for at in range(1, MAX_ITEMS + 1):
                    _write_item(rules, sources, bits, i, at, name, k, aggregate, bare, strict)
    for at in range(1, MAX_ITEMS + 1):
        number = _WANTED["n"]
        sets = bits.value(bits.aggregated, wanted=number if at == 1 else 0)
        allowed = all_of(_kind_allowed(bits, at, number), f"bit_clear({bits.opaque})")
        rules.add(f"item{at}::_", f'"COUNT(*)"i next{at}::bit_or({sets})', allowed)
    star = bits.value(bits.opaque, count=STAR, wanted=_WANTED["x"])
    rules.add(
        "item1::_",
        f'"*" " FROM " from::bit_or({star})',
        all_of(f"is_zeros({bits.count})", f"is_zeros({bits.wanted})"),
    )


def _write_ends(rules: Rules, bits: Bits) -> None:
    """After an item: another one, or the FROM; the number of items is noted, or was given."""
    for at in range(1, MAX_ITEMS + 1):
        free = f"is_zeros({bits.count})"
        if at < MAX_ITEMS:
            more = any_of(free, f"gt({bits.count}, {at})")
            rules.add(f"next{at}::_", f'", " item{at + 1}::_', more)
        rules.add(
            f"next{at}::_",
            f'" FROM " from::bit_or({bits.value(count=at)})',
            any_of(free, f"eq({bits.count}, {at})"),
        )


def _terms(rules: Rules, stem: str, of_kind: list[str]) -> Iterator[tuple[str, str, bool]]:
    """Rules for what an item over one source's columns can be: (rule, kind, is aggregate)."""
    for rule in of_kind:
        k = rule[-1]
        yield rule, k, False
        rules.add(f"a{stem}n", f'"COUNT("i {rule} ")"')
        if k != "x":
            rules.add(f"a{stem}n", f'"COUNT("i "DISTINCT " {rule} ")"')
        if k in "na":
            rules.add(f"a{stem}n", f'("SUM("i | "AVG("i) {rule} ")"')
        if k in "ntda":
            rules.add(f"a{stem}{k}", f'("MIN("i | "MAX("i) {rule} ")"')
    for k in "ntda":
        if f"a{stem}{k}" in rules:
            yield f"a{stem}{k}", k, True


def _write_item(
    rules: Rules,
    sources: Sources,
    bits: Bits,
    i: int,
    at: int,
    term: str,
    k: str,
    aggregate: bool,
    bare: bool,
    strict: bool,
) -> None:
    """One alternative for the item at this place."""
    n = len(sources.sources)
    low, high = (i, i + 1) if bare else sources.parts[i]
    reachable = all_of(
        f"is_zeros([0:{low}])" if low else "",
        f"is_zeros([{high}:{n}])" if high < n else "",
        "" if bare else any_of(f"bit_clear({bits.alone})", f"bit_set({bits.needed(i)})"),
    )
    flags = [bits.needed(i), bits.aggregated if aggregate else bits.plain(at)]
    limits = ""
    if bare:
        flags.append(bits.alone)
    if k == "x":
        flags.append(bits.opaque)
        limits = all_of(f"bit_clear({bits.aggregated})", f"bit_clear({bits.distinct})")
    if aggregate:
        limits = f"bit_clear({bits.opaque})"
    sets = bits.value(*flags, wanted=_WANTED[k] if at == 1 else 0)
    condition = all_of(reachable, limits if strict else "", _kind_allowed(bits, at, _WANTED[k]))
    rules.add(f"item{at}::_", f"{term} next{at}::bit_or({sets})", condition)


def _kind_allowed(bits: Bits, at: int, kind: int) -> str:
    """Only the first item's kind can be asked for; 0 is any, on either side."""
    if at > 1 or kind == 0:
        return ""
    return any_of(f"is_zeros({bits.wanted})", f"eq({bits.wanted}, {kind})")
