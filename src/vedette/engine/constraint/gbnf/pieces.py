"""Regular parts of a grammar: which there are, and what each is as a regular expression."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .ast import (
    Alternatives,
    AnyChar,
    CharClass,
    Grammar,
    Item,
    Literal,
    Repeat,
    RuleRef,
    Sequence,
    TokenRef,
)
from .chars import chars_of, pattern_of, spelt

MAX_CHARS = 20_000
"""Written-out size, in characters and classes, up to which a part may become one terminal."""

MAX_OPTIONAL_CHARS = 100
"""The same for one that may be empty: its non-empty texts take more room to write out."""

MAX_DEPTH = 40
"""And how deep it may nest."""


class _Extent(NamedTuple):
    """Characters and classes of a part when it is written out once, and how deep it nests."""

    chars: int
    depth: int


class Pieces:
    """Answers about the items of one grammar; what they refer to counts as written in place."""

    def __init__(self, grammar: Grammar) -> None:
        self._rules = grammar.rules
        self._nullable: dict[str, bool] = {}
        self._patterns: dict[str, str] = {}
        self._extents: dict[str, _Extent] = {}
        waiting = list(grammar.rules.values())
        progress = True
        while progress:
            before = len(waiting)
            for rule in reversed(waiting):
                extent = self._extent(rule.body)
                if extent is not None:
                    self._extents[rule.name] = extent
            waiting = [rule for rule in waiting if rule.name not in self._extents]
            progress = len(waiting) < before

    def is_regular(self, item: Item) -> bool:
        """No recursion and no token in it, and not too large to be written out."""
        return self._extent(item) is not None

    def size(self, item: Item) -> int:
        """Characters and classes of a regular item when it is written out once."""
        extent = self._extent(item)
        assert extent is not None
        return extent.chars

    def _extent(self, item: Item) -> _Extent | None:
        match item:
            case Literal(code_points):
                return _Extent(len(code_points), 0)
            case CharClass() | AnyChar():
                return _Extent(1, 0)
            case TokenRef():
                return None
            case Repeat(inner, _, _):
                return _deeper([self._extent(inner)])
            case RuleRef(name):
                return self._extents.get(name)
            case Alternatives(options):
                return _deeper(self._extent(part) for o in options for part in o.items)

    def body(self, name: str) -> Alternatives:
        """What the rule of this name stands for."""
        return self._rules[name].body

    def is_nullable(self, item: Item) -> bool:
        """Whether a regular item matches the empty text."""
        match item:
            case Literal(code_points):
                return not code_points
            case RuleRef(name):
                if name not in self._nullable:
                    self._nullable[name] = self.is_nullable(self._rules[name].body)
                return self._nullable[name]
            case Repeat(inner, low, _):
                return low == 0 or self.is_nullable(inner)
            case Alternatives(options):
                return any(self.is_nullable_run(option.items) for option in options)
            case CharClass() | AnyChar() | TokenRef():
                return False

    def fits(self, items: tuple[Item, ...]) -> bool:
        """Whether regular items together are small enough for one terminal."""
        limit = MAX_OPTIONAL_CHARS if self.is_nullable_run(items) else MAX_CHARS
        return sum(map(self.size, items)) <= limit

    def is_nullable_run(self, items: tuple[Item, ...]) -> bool:
        """Whether all the items together match the empty text."""
        return all(self.is_nullable(item) for item in items)

    def nonempty(self, items: tuple[Item, ...]) -> Alternatives | None:
        """What regular items match together, but for the empty text; None if that is nothing."""
        options: list[Sequence] = []
        for index, item in enumerate(items):
            filled = self._filled(item)
            if filled is not None:
                options.append(Sequence((filled, *items[index + 1 :])))
            if not self.is_nullable(item):
                break
        return Alternatives(tuple(options)) if options else None

    def _filled(self, item: Item) -> Item | None:
        """`nonempty` of one item."""
        if not self.is_nullable(item):
            return item
        match item:
            case RuleRef(name):
                return self._filled(self._rules[name].body)
            case Repeat(inner, _, high):
                filled = self._filled(inner)
                if filled is None or high == 0:
                    return None
                # a nullable inner item makes up for every repetition that is left out
                return Repeat(filled, 1, high)
            case Alternatives(options):
                bodies = [self.nonempty(option.items) for option in options]
                kept = [option for body in bodies if body for option in body.options]
                return Alternatives(tuple(kept)) if kept else None
            case Literal() | CharClass() | AnyChar() | TokenRef():
                return None

    def pattern(self, item: Item) -> str:
        """The regular expression of a regular item."""
        match item:
            case Literal(code_points):
                return "".join(map(spelt, code_points))
            case CharClass() | AnyChar():
                return pattern_of(chars_of(item))
            case RuleRef(name):
                if name not in self._patterns:
                    self._patterns[name] = self.pattern(self._rules[name].body)
                return self._patterns[name]
            case Repeat(inner, low, high):
                if high == 0:
                    return ""
                pattern = self.pattern(inner)
                is_one = isinstance(inner, CharClass | AnyChar)
                return (pattern if is_one else f"(?:{pattern})") + times(low, high)
            case Alternatives(options):
                texts = ["".join(map(self.pattern, option.items)) for option in options]
                return texts[0] if len(texts) == 1 else f"(?:{'|'.join(texts)})"
            case TokenRef():
                raise AssertionError("a token has no regular expression")


def _deeper(parts: Iterable[_Extent | None]) -> _Extent | None:
    chars, depth = 0, 0
    for part in parts:
        if part is None:
            return None
        chars, depth = chars + part.chars, max(depth, part.depth)
        if chars > MAX_CHARS or depth >= MAX_DEPTH:
            return None
    return _Extent(chars, depth + 1)


def times(low: int, high: int | None) -> str:
    """A repetition as regular expressions and Lark both write it."""
    short = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((low, high))
    if short:
        return short
    return f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"
