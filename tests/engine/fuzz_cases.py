"""Cases for the engine that nobody should send it, the same for the same seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from random import Random
from typing import Any

from fuzz_families import FAMILIES, Make
from fuzz_grammars import GRAMMARS
from fuzz_schemas import as_text, broken_text, mutated, soup

INPUTS = ("", "a", "the quick brown fox 42 aa", "aaaa " * 400, '"\\ é😀', "b aab a 7")
MAX_TOKENS = 48
# How often each kind comes: half of the cases are schemas.
_KINDS = ("json_schema",) * 10 + ("gbnf",) * 4 + ("lark",) * 3 + ("regex",) * 2 + ("choice",)
_SCHEMAS: tuple[tuple[Make, int], ...] = (
    *((mutated, 20), (soup, 8), (broken_text, 3)),
    *((family, 2) for family in FAMILIES),
)


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to ask of the engine. `family` is the function that made its source.

    `order` and `strict` are for schemas, as in `SchemaOptions`.
    """

    number: int
    family: str
    kind: Any
    source: str
    input: str
    temperature: float
    order: str = "declared"
    strict: bool = False

    def as_dict(self) -> dict[str, Any]:
        """All fields, for JSON."""
        return asdict(self)


def cases(n: int, seed: int) -> Iterator[Case]:
    """`n` cases."""
    for number in range(n):
        pick = Random(f"{seed}/{number}")
        kind = pick.choice(_KINDS)
        if kind == "json_schema":
            makers, weights = zip(*_SCHEMAS, strict=True)
            make: Make = pick.choices(makers, weights)[0]
        else:
            make = pick.choice(GRAMMARS[kind])
        made = make(pick)
        source = made if isinstance(made, str) else as_text(made)
        heat = pick.choice((0.0, 1.0))
        grounds = kind == "json_schema" and "x-" in source
        input_text = pick.choice(INPUTS) if grounds else ""
        case = Case(number, make.__name__, kind, source, input_text, heat)
        if kind == "json_schema":
            order = pick.choice(("declared", "declared", "declared", "any"))
            case = replace(case, order=order, strict=pick.random() < 0.1)
        yield case
