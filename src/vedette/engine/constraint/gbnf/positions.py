"""A flat grammar as an automaton over characters, a superset of what the grammar allows.

Its states are positions: a character (or a token literal) that has just been read, at its place
in a terminal at its place in a rule. Two things are let go, both towards allowing more: a call
returns to every place that the rule is called from, and large counts are not counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from .ast import Alternatives, AnyChar, CharClass, Item, Literal, Repeat, RuleRef, TokenRef
from .chars import Alphabet, Ranges, chars_of
from .flat import Call, FlatGrammar, Many, Part, Run, Term, Token
from .pieces import Pieces

COUNTED_OUT = 16
"""A repetition is written out up to this many characters, and from there on not counted."""

MAX_FOLLOWED = 600_000
"""Steps over what may be left out, all together; many optional parts in a row multiply."""


@dataclass(slots=True)
class Position:
    """`inner`: what follows in the same terminal; `after`: the nodes behind it, if it may end."""

    mask: int
    place: int
    inner: tuple[int, ...] = ()
    after: list[int] = field(default_factory=list)
    token: TokenRef | None = None


class TooLarge(Exception):
    """The grammar has more positions than are worth looking at."""


class _Frag(NamedTuple):
    first: tuple[int, ...]
    last: tuple[int, ...]
    nullable: bool


_EMPTY = _Frag((), (), True)


class Positions:
    """All positions of a flat grammar; number 0 stands before the text.

    `uncounted` holds the places (terminals at their places) in which counts were let go. With
    `shared`, equal terminals are one place: fewer positions that tell less. Raises `TooLarge`
    beyond `limit` positions.
    """

    def __init__(
        self, flat: FlatGrammar, pieces: Pieces, alphabet: Alphabet, limit: int, *, shared: bool
    ) -> None:
        self._pieces = pieces
        self._limit = limit
        self._followed = 0
        self._alphabet = alphabet
        self._skips: list[list[int]] = []
        self._exits: list[list[int]] = []
        self._reached: dict[int, frozenset[int]] = {}
        self._alike: dict[frozenset[int], frozenset[int]] = {}
        self._shared: dict[Run, _Frag] | None = {} if shared else None
        self.uncounted: set[int] = set()
        self.runs: list[Run] = [()]  # what the terminal at each place was made of
        self._follow: list[set[int]] = []
        self.all: list[Position] = []
        self._entry = {name: self._node() for name in flat}
        self._exit = {name: self._node() for name in flat}
        self._new(0)
        self.all[0].after.append(self._entry["start"])
        for name, body in flat.items():
            for parts in body:
                node = self._entry[name]
                for part in parts:
                    node = self._part(part, node)
                self._skips[node].append(self._exit[name])
        for position, follow in zip(self.all, self._follow, strict=True):
            position.inner = tuple(follow)

    def outer(self, state: Iterable[int]) -> list[frozenset[int]]:
        """Positions that begin a new terminal or token behind these ones, in different sets."""
        ends = {node for position in state for node in self.all[position].after}
        return list({id(reached): reached for reached in map(self._reach, ends)}.values())

    def _reach(self, start: int) -> frozenset[int]:
        """What begins at a node or where it leads to without a character."""
        if start not in self._reached:
            seen, waiting = {start}, [start]
            found: set[int] = set()
            while waiting:
                node = waiting.pop()
                found.update(self._exits[node])
                fresh = [n for n in self._skips[node] if n not in seen]
                seen.update(fresh)
                waiting += fresh
            self._followed += len(seen) + len(found)
            if self._followed > MAX_FOLLOWED:
                raise TooLarge
            reached = frozenset(found)
            self._reached[start] = self._alike.setdefault(reached, reached)
        return self._reached[start]

    def _node(self) -> int:
        self._skips.append([])
        self._exits.append([])
        return len(self._skips) - 1

    def _new(self, mask: int) -> int:
        if len(self.all) > self._limit:
            raise TooLarge
        self.all.append(Position(mask, len(self.runs) - 1))
        self._follow.append(set())
        return len(self.all) - 1

    def _part(self, part: Part, start: int) -> int:
        """Lay the part from the node `start`; returns the node behind it."""
        end = self._node()
        match part:
            case Term(piece, run):
                frag = self._terminal(piece, run)
                self._exits[start] += frag.first
                for position in frag.last:
                    self.all[position].after.append(end)
            case Token(ref):
                self.runs.append(())
                position = self._new(0)
                self.all[position].token = ref
                self.all[position].after.append(end)
                self._exits[start].append(position)
            case Call(name):
                self._skips[start].append(self._entry[name])
                self._skips[self._exit[name]].append(end)
            case Many(inner, low, high):
                begin = self._node()
                self._skips[start].append(begin)
                behind = self._part(inner, begin)
                self._skips[behind].append(end)
                if high is None or high > 1:
                    self._skips[behind].append(begin)
                if low == 0:
                    self._skips[start].append(end)
        return end

    def _terminal(self, piece: Alternatives, run: Run) -> _Frag:
        if self._shared is not None and run in self._shared:
            return self._shared[run]
        self.runs.append(run)
        frag = self._frag(piece)
        if self._shared is not None:
            self._shared[run] = frag
        return frag

    def _frag(self, item: Item) -> _Frag:
        """Lay the positions of a regular item."""
        match item:
            case Literal(code_points):
                frag = _EMPTY
                for c in code_points:
                    frag = self._chain(frag, self._one(((c, c),)))
                return frag
            case CharClass() | AnyChar():
                return self._one(chars_of(item))
            case RuleRef(name):
                return self._frag(self._pieces.body(name))
            case Repeat(inner, low, high):
                return self._repeat(inner, low, high)
            case Alternatives(options):
                frags = []
                for option in options:
                    frag = _EMPTY
                    for part in option.items:
                        frag = self._chain(frag, self._frag(part))
                    frags.append(frag)
                return _Frag(
                    tuple(p for frag in frags for p in frag.first),
                    tuple(p for frag in frags for p in frag.last),
                    any(frag.nullable for frag in frags),
                )
            case TokenRef():
                raise AssertionError("a token is not part of a terminal")

    def _one(self, chars: Ranges) -> _Frag:
        position = self._new(self._alphabet.mask(chars))
        return _Frag((position,), (position,), False)

    def _chain(self, left: _Frag, right: _Frag) -> _Frag:
        for position in left.last:
            self._follow[position].update(right.first)
        return _Frag(
            left.first + right.first if left.nullable else left.first,
            right.last + left.last if right.nullable else right.last,
            left.nullable and right.nullable,
        )

    def _loop(self, inner: Item) -> _Frag:
        frag = self._frag(inner)
        self._chain(frag, frag)
        return frag

    def _repeat(self, inner: Item, low: int, high: int | None) -> _Frag:
        if high == 0:
            return _EMPTY
        times = low if high is None else high
        is_long = times > 1 and times * self._pieces.size(inner) > COUNTED_OUT
        if is_long or (high is None and low <= 1):
            if is_long:
                self.uncounted.add(len(self.runs) - 1)
            frag = self._loop(inner)
            return frag._replace(nullable=frag.nullable or low == 0)
        tail = _EMPTY
        if high is None:
            tail = self._loop(inner)._replace(nullable=True)
        else:
            for _ in range(high - low):
                tail = self._chain(self._frag(inner), tail)._replace(nullable=True)
        for _ in range(low):
            tail = self._chain(self._frag(inner), tail)
        return tail
