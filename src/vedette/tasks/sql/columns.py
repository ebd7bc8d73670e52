"""Rules for columns: those of one source, and those that a FROM has brought in.

q3n      number columns of source 3 that can be written wherever it is named or in
u3n      bare number columns of source 3 that other sources have too
cn::_    number columns of what is in; `c::_` of every kind, `co::_` those with an order
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from vedette.engine.constraint.verbatim import lark_literal

from .bits import Bits, all_of
from .names import written
from .rules import Rules
from .schema import Dialect, Kind
from .sources import Source, Sources

LETTERS: dict[Kind, str] = {
    "number": "n",
    "text": "t",
    "date": "d",
    "boolean": "b",
    "any": "a",
    "opaque": "x",
}
ORDERED = "ntda"


@dataclass(frozen=True, slots=True)
class Columns:
    """Which of the rules above there are."""

    kinds: str
    of_source: tuple[str, ...]
    bare_of_source: tuple[str, ...]

    def qualified(self, source: int, letters: str = "ntdbax") -> list[str]:
        """Rules for columns of a source, of these kinds."""
        return [f"q{source}{k}" for k in letters if k in self.of_source[source]]

    def bare(self, source: int, letters: str = "ntdbax") -> list[str]:
        """Rules for its bare columns."""
        return [f"u{source}{k}" for k in letters if k in self.bare_of_source[source]]


def write_columns(rules: Rules, sources: Sources, bits: Bits, dialect: Dialect) -> Columns:
    """Write the rules of all columns."""
    owners: dict[str, list[int]] = defaultdict(list)
    for i, source in enumerate(sources.sources):
        for column in source.columns:
            owners[column.name.lower()].append(i)
    for i, source in enumerate(sources.sources):
        _write_source(rules, i, source, owners, bits, dialect)
    n = len(sources.sources)
    columns = Columns(
        kinds="".join(k for k in "ntdbax" if f"c{k}::_" in rules),
        of_source=tuple("".join(k for k in "ntdbax" if f"q{i}{k}" in rules) for i in range(n)),
        bare_of_source=tuple("".join(k for k in "ntdbax" if f"u{i}{k}" in rules) for i in range(n)),
    )
    for k in columns.kinds:
        rules.add("c::_", f"c{k}::_")
        if k in ORDERED:
            rules.add("co::_", f"c{k}::_")
        if k != "x":
            rules.add("ce::_", f"c{k}::_")
    return columns


def _write_source(
    rules: Rules,
    i: int,
    source: Source,
    owners: dict[str, list[int]],
    bits: Bits,
    dialect: Dialect,
) -> None:
    prefix = lark_literal(written(source.name, dialect) + ".")
    for column in source.columns:
        k = LETTERS[column.kind]
        name = lark_literal(written(column.name, dialect))
        others = [other for other in owners[column.name.lower()] if other != i]
        rules.add(f"p{i}{k}", name)
        if not others:
            rules.add(f"q{i}{k}", name)
        elif not source.is_alias:
            rules.add(f"u{i}{k}", name)
            lone = all_of(*(f"bit_clear({bits.present(other)})" for other in others))
            rules.add(f"c{k}::_", name, all_of(f"bit_set({bits.present(i)})", lone))
    for k in "ntdbax":
        if f"p{i}{k}" in rules:
            rules.add(f"q{i}{k}", f"{prefix} p{i}{k}")
            rules.add(f"c{k}::_", f"q{i}{k}", f"bit_set({bits.present(i)})")
