"""The notation of llama.cpp's grammar parser, read into a tree.

Where its documentation is silent, this follows what llama.cpp does:

- A rule ends at the first newline outside parentheses, except right after `::=` and `|`.
- A rule that is defined again replaces the earlier definition: the last one holds.
- `""`, `[]` and `[^]` are empty, and cannot be repeated; `()` is empty too, and can.
- In a class, `-` before the closing bracket is itself, and `^` is special only in front.
- Escapes are the same in literals and classes, and name code points, never bytes.

llama.cpp's bound of 2,000 repetitions is not kept. `{3,2}`, on which it hangs, is refused.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NoReturn

from vedette.errors import InputError

from .ast import (
    Alternatives,
    AnyChar,
    CharClass,
    Grammar,
    Item,
    Literal,
    Place,
    Repeat,
    Rule,
    RuleRef,
    Sequence,
    TokenRef,
)
from .check import check

MAX_REPETITIONS = 2**31 - 1
MAX_TOKEN_ID = 2**32 - 1

_SPACE = re.compile(r"(?:[ \t]|#[^\r\n]*)*")
_SPACE_AND_LINES = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*)*")
_NAME = re.compile(r"[A-Za-z0-9-]+")
_DIGITS = re.compile(r"[0-9]+")
_NEWLINE = re.compile(r"\r\n|\r|\n")
_TOKEN_ID = re.compile(r"<\[([0-9]+)\]>")
_TOKEN_TEXT = re.compile(r"<[^>]*>")

_ESCAPES = {"t": "\t", "r": "\r", "n": "\n", "\\": "\\", '"': '"', "[": "[", "]": "]", "-": "-"}
_HEX = {"x": re.compile(r"[0-9A-Fa-f]{2}"), "u": re.compile(r"[0-9A-Fa-f]{4}")}
_HEX["U"] = re.compile(r"[0-9A-Fa-f]{8}")
_SHORTHAND = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def parse_gbnf(source: str) -> Grammar:
    """The grammar that the text describes.

    Raises `InputError` with line and column for what is no GBNF, for a rule that is missing,
    left-recursive or without an end, and for an item that no text can match.
    """
    try:
        grammar = _Parser(source).grammar()
        check(grammar)
    except RecursionError as error:
        raise InputError(
            "the grammar nests groups or repetitions too deeply",
            hint="give the inner groups rules of their own",
        ) from error
    return grammar


class _Parser:
    """A cursor over the text; each method reads one construct and the space after it."""

    def __init__(self, source: str) -> None:
        self._text = source
        self._at = 0
        self._line_starts = [0, *(m.end() for m in _NEWLINE.finditer(source))]

    def grammar(self) -> Grammar:
        bad = re.search("[\0\ud800-\udfff]", self._text)
        if bad:
            self._fail("a character that no grammar file can hold", at=bad.start())
        self._space(lines=True)
        rules: dict[str, Rule] = {}
        while self._at < len(self._text):
            rule = self._rule()
            rules[rule.name] = rule
        return Grammar(rules)

    def _rule(self) -> Rule:
        place = self._place()
        name = self._match(_NAME, "expected a rule name").group()
        self._space()
        if not self._text.startswith("::=", self._at):
            self._fail(f'expected "::=" after the rule name {name!r}')
        self._at += 3
        self._space(lines=True)
        body = self._alternatives(nested=False)
        if self._at < len(self._text):
            newline = _NEWLINE.match(self._text, self._at)
            if newline is None:
                self._fail("expected a newline or the end of the grammar")
            self._at = newline.end()
        self._space(lines=True)
        return Rule(name, body, place)

    def _alternatives(self, *, nested: bool) -> Alternatives:
        options = [self._sequence(nested)]
        while self._peek() == "|":
            self._at += 1
            self._space(lines=True)
            options.append(self._sequence(nested))
        return Alternatives(tuple(options))

    def _sequence(self, nested: bool) -> Sequence:
        items: list[Item] = []
        while True:
            item = self._item()
            if item is not None:
                self._space(lines=nested)
                items.append(item)
            elif self._peek() and self._peek() in "*+?{":
                place = self._place()
                low, high = self._times(nested)
                if not items or _has_no_parts(items[-1]):
                    self._fail("there is nothing to repeat", place=place)
                items[-1] = Repeat(items[-1], low, high)
            else:
                return Sequence(tuple(items))

    def _item(self) -> Item | None:
        """What stands here, if it is an item; a repetition is none."""
        match self._peek():
            case '"':
                return self._literal()
            case "[":
                return self._char_class()
            case "(":
                return self._group()
            case ".":
                place = self._place()
                self._at += 1
                return AnyChar(place)
            case "<" | "!":
                return self._token()
            case _:
                place = self._place()
                name = _NAME.match(self._text, self._at)
                if name is None:
                    return None
                self._at = name.end()
                return RuleRef(name.group(), place)

    def _literal(self) -> Literal:
        place = self._place()
        self._at += 1
        code_points: list[int] = []
        while self._peek() != '"':
            code_points.append(self._char(place, "literal"))
        self._at += 1
        return Literal(tuple(code_points), place)

    def _char_class(self) -> Item:
        place = self._place()
        self._at += 1
        negated = self._peek() == "^"
        self._at += negated
        ranges: list[tuple[int, int]] = []
        while self._peek() != "]":
            low = high = self._char(place, "class")
            if self._peek() == "-" and not self._text.startswith("-]", self._at):
                self._at += 1
                high = self._char(place, "class")
            ranges.append((low, high))
        self._at += 1
        return CharClass(tuple(ranges), negated, place) if ranges else Literal((), place)

    def _char(self, opened: Place, what: str) -> int:
        """A code point, escaped or not, inside a literal or class."""
        char = self._peek()
        if not char:
            self._fail(f"this {what} is not closed", place=opened)
        if char != "\\":
            self._at += 1
            return ord(char)
        kind = self._text[self._at + 1 : self._at + 2]
        if kind in _HEX:
            digits = _HEX[kind].match(self._text, self._at + 2)
            if digits is None:
                count = {"x": 2, "u": 4, "U": 8}[kind]
                self._fail(f"\\{kind} takes {count} hexadecimal digits")
            self._at = digits.end()
            return int(digits.group(), 16)
        if kind not in _ESCAPES:
            self._fail(
                f"unknown escape {char + kind!r}",
                hint=r"GBNF has \t \r \n \\ \" \[ \] \- \xHH \uHHHH \UHHHHHHHH",
            )
        self._at += 2
        return ord(_ESCAPES[kind])

    def _group(self) -> Alternatives:
        place = self._place()
        self._at += 1
        self._space(lines=True)
        body = self._alternatives(nested=True)
        if self._peek() != ")":
            if not self._peek():
                self._fail("this parenthesis is not closed", place=place)
            self._fail(f'expected ")" for the parenthesis of {place}')
        self._at += 1
        return body

    def _token(self) -> TokenRef:
        place = self._place()
        negated = self._peek() == "!"
        self._at += negated
        if self._text.startswith("<[", self._at):
            digits = self._match(_TOKEN_ID, "a token id is written <[123]>").group(1)
            if len(digits) > 20 or int(digits) > MAX_TOKEN_ID:
                self._fail(f"the token id {digits[:24]} is too large", place=place)
            return TokenRef(int(digits), negated, place)
        text = self._match(_TOKEN_TEXT, "a token is written <text> or <[123]>").group()
        return TokenRef(text, negated, place)

    def _times(self, nested: bool) -> tuple[int, int | None]:
        place = self._place()
        sign = self._peek()
        self._at += 1
        self._space(lines=nested)
        if sign in _SHORTHAND:
            return _SHORTHAND[sign]
        low = self._count(nested)
        high: int | None = low
        if self._peek() == ",":
            self._at += 1
            self._space(lines=nested)
            high = None if self._peek() == "}" else self._count(nested)
        if self._peek() != "}":
            self._fail('expected "," or "}" in a repetition')
        self._at += 1
        self._space(lines=nested)
        if high is not None and high < low:
            self._fail(f"a repetition of {low} to {high} times is impossible", place=place)
        return low, high

    def _count(self, nested: bool) -> int:
        place = self._place()
        digits = self._match(_DIGITS, "expected a number in a repetition").group()
        if len(digits) > 20 or int(digits) > MAX_REPETITIONS:
            self._fail(
                f"{digits[:24]} repetitions are too many",
                hint=f"the most is {MAX_REPETITIONS:,}",
                place=place,
            )
        self._space(lines=nested)
        return int(digits)

    def _peek(self) -> str:
        """The next character, '' at the end."""
        return self._text[self._at : self._at + 1]

    def _space(self, *, lines: bool = False) -> None:
        found = (_SPACE_AND_LINES if lines else _SPACE).match(self._text, self._at)
        assert found is not None  # both match the empty text
        self._at = found.end()

    def _match(self, pattern: re.Pattern[str], otherwise: str) -> re.Match[str]:
        found = pattern.match(self._text, self._at)
        if found is None:
            self._fail(otherwise)
        self._at = found.end()
        return found

    def _place(self, at: int | None = None) -> Place:
        at = self._at if at is None else at
        line = bisect_right(self._line_starts, at)
        return Place(line, at - self._line_starts[line - 1] + 1)

    def _fail(
        self, what: str, *, at: int | None = None, place: Place | None = None, hint: str = ""
    ) -> NoReturn:
        """Raise for the given place; for the cursor, with what stands there, if none is given."""
        if place is None and at is None:
            here = self._text[self._at : self._at + 12].splitlines()
            what += f", found {here[0]!r}" if here and here[0] else ", found the end of the line"
            if self._at >= len(self._text):
                what = what.removesuffix("line") + "grammar"
        where = place or self._place(at)
        raise InputError(f"the grammar, {where}: {what}", hint=hint or None)


def _has_no_parts(item: Item) -> bool:
    """Whether llama.cpp sees nothing here that a repetition could take hold of."""
    if isinstance(item, Repeat):
        return item.max == 0
    return isinstance(item, Literal) and not item.code_points
