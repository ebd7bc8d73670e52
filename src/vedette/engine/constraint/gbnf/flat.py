"""A grammar as rules over terminals: the shape that is analysed and then written out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from .ast import Alternatives, Grammar, Item, Literal, Repeat, RuleRef, Sequence, TokenRef
from .check import START
from .pieces import Pieces

Run: TypeAlias = tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Term:
    """A terminal: a non-empty text that the lexer takes as one. `run` is what it was made of."""

    piece: Alternatives
    run: Run


@dataclass(frozen=True, slots=True)
class Call:
    """A rule by its name in the flat grammar."""

    name: str


@dataclass(frozen=True, slots=True)
class Token:
    """One token of the vocabulary, or any other than it."""

    ref: TokenRef


@dataclass(frozen=True, slots=True)
class Many:
    """The part `min` to `max` times; `max` None is without end."""

    part: Term | Call | Token
    min: int
    max: int | None


Part: TypeAlias = Term | Call | Token | Many
FlatGrammar: TypeAlias = dict[str, list[tuple[Part, ...]]]


def flatten(grammar: Grammar, pieces: Pieces, is_split: Callable[[Run], bool]) -> FlatGrammar:
    """Rules over terminals, `start` first; every run of regular items becomes one terminal.

    A run for which `is_split` says so is taken apart by one level instead, down to single
    characters, which are never asked about.
    """
    return _Flattener(grammar, pieces, is_split).rules()


class _Flattener:
    def __init__(self, grammar: Grammar, pieces: Pieces, is_split: Callable[[Run], bool]) -> None:
        self._names = {name: f"r{index}" for index, name in enumerate(grammar.rules)}
        self._pieces = pieces
        self._is_split = is_split
        self._flat: FlatGrammar = {}
        self._waiting: list[tuple[str, Alternatives]] = []
        self._groups: dict[Alternatives, str] = {}

    def rules(self) -> FlatGrammar:
        self._flat["start"] = [self._run((RuleRef(START),))]
        while self._waiting:
            name, body = self._waiting.pop()
            self._flat[name] = [self._sequence(option.items) for option in body.options]
        return self._flat

    def _sequence(self, items: Collection[Item]) -> tuple[Part, ...]:
        """The parts of a sequence, neighbours that are regular taken together."""
        parts: list[Part] = []
        run: list[Item] = []
        for item in items:
            if self._pieces.is_regular(item):
                run.append(item)
                continue
            parts += self._run(tuple(run))
            parts += self._apart(item)
            run = []
        return (*parts, *self._run(tuple(run)))

    def _run(self, run: Run) -> tuple[Part, ...]:
        """The parts of items that are all regular, or of one item that may not be."""
        if _is_one_char(run):
            return (Term(Alternatives((Sequence(run),)), run),)
        if len(run) == 1 and not self._pieces.is_regular(run[0]):
            return self._apart(run[0])
        if self._is_split(run) or not self._pieces.fits(run):
            if len(run) == 1:
                return self._apart(run[0])
            return tuple(part for item in run for part in self._run((item,)))
        piece = self._pieces.nonempty(run)
        if piece is None:
            return ()
        term = Term(piece, run)
        return (Many(term, 0, 1),) if self._pieces.is_nullable_run(run) else (term,)

    def _apart(self, item: Item) -> tuple[Part, ...]:
        """The parts of one item that is no terminal."""
        match item:
            case Literal(code_points):
                return tuple(part for c in code_points for part in self._run((Literal((c,)),)))
            case RuleRef(name):
                return (self._call(self._names[name], self._pieces.body(name)),)
            case TokenRef():
                return (Token(item),)
            case Alternatives():
                if item not in self._groups:
                    self._groups[item] = f"g{len(self._groups)}"
                return (self._call(self._groups[item], item),)
            case Repeat(inner, low, high):
                return self._many(inner, low, high)
            case _:
                raise AssertionError("a single character is always a terminal")

    def _many(self, inner: Item, low: int, high: int | None) -> tuple[Part, ...]:
        if high == 0:
            return ()
        while isinstance(inner, Repeat) and inner.min <= 1 >= low and inner.max is high is None:
            low, inner = low * inner.min, inner.item  # x+* is x*
        parts = self._run((inner,))
        if not parts:
            return ()
        if len(parts) == 1 and not isinstance(parts[0], Many):
            return (Many(parts[0], low, high),)
        group = Alternatives((Sequence((inner,)),))
        name = self._groups.setdefault(group, f"g{len(self._groups)}")
        self._flat.setdefault(name, [parts])
        return (Many(Call(name), low, high),)

    def _call(self, name: str, body: Alternatives) -> Call:
        if name not in self._flat:
            self._flat[name] = []
            self._waiting.append((name, body))
        return Call(name)


def _is_one_char(run: Run) -> bool:
    match run:
        case (Literal(code_points),):
            return len(code_points) == 1
        case (item,):
            return not isinstance(item, Literal | RuleRef | TokenRef | Repeat | Alternatives)
        case _:
            return False


def nesting(flat: FlatGrammar) -> int:
    """How many rules deep a walk from the start goes that enters each rule once."""
    deepest = 0
    seen = {"start"}
    path = [_calls(flat["start"])]
    while path:
        deepest = max(deepest, len(path))
        name = next(path[-1], None)
        if name is None:
            path.pop()
        elif name not in seen:
            seen.add(name)
            path.append(_calls(flat[name]))
    return deepest


def _calls(body: list[tuple[Part, ...]]) -> Iterator[str]:
    for parts in body:
        for part in parts:
            inner = part.part if isinstance(part, Many) else part
            if isinstance(inner, Call):
                yield inner.name
