"""Regular expressions: from the schema's dialect (ECMA-262) to the grammar's, char by char.

The two differ in what `\\d`, `\\w`, `\\s` and `.` cover, in escapes and inside classes, and the
grammar has no look-around, back-references or word boundaries.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import jsonschema_rs

_SPACE = r"\t\n\x0B\x0C\r \u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000\uFEFF"
_INSIDE = {"d": "0-9", "w": "A-Za-z0-9_", "s": _SPACE}  # ECMA-262, 22.2.2.9
_CONTROLS = {"t": "\\t", "n": "\\n", "r": "\\r", "v": "\\x0B", "f": "\\x0C", "0": "\\x00"}
_DOT = r"[^\n\r\u2028\u2029]"
_ANY = r"[\s\S]"
_QUANTIFIER = re.compile(r"\{\d+(?:,\d*)?\}")
_HEX = re.compile(
    r"\\u\{(?P<long>[0-9a-fA-F]{1,6})\}"
    r"|\\u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\u(?P<four>[0-9a-fA-F]{4})|\\x(?P<two>[0-9a-fA-F]{2})"
)
_PROPERTY = re.compile(r"\\[pP]\{[A-Za-z_=]+\}")


class Untranslatable(Exception):
    """The grammar has no form for this expression; the text says for what in it."""


# The grammar engine (llguidance 1.9.1) lets escaped quotes and backslashes through where all
# control characters may stand but not these. Without one of the control characters it does not.
_GIVEN_UP = "\\x01"
CONTROL_LEFT_OUT = "a control character is left out, to keep quotes and backslashes apart"


def to_grammar(pattern: str) -> tuple[str, bool]:
    """The expression as the grammar reads it, and whether `CONTROL_LEFT_OUT` holds of it.

    Raises `Untranslatable`.
    """
    translator = _Translator(pattern)
    return translator.run(), translator.narrowed


class _Translator:
    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self.narrowed = False

    def run(self) -> str:
        out: list[str] = []
        while self._at < len(self._text):
            out.append(self._next())
        return "".join(out)

    def _next(self) -> str:
        char = self._text[self._at]
        if char == "\\":
            return self._escape()
        if char == "[":
            return self._class()
        if char == "(":
            return self._group()
        if char == "{":
            counted = _QUANTIFIER.match(self._text, self._at)
            self._at = counted.end() if counted else self._at + 1
            return counted.group() if counted else r"\{"
        self._at += 1
        if char in "]}":
            return "\\" + char
        return _DOT if char == "." else char

    def _group(self) -> str:
        for opening in ("(?=", "(?!", "(?<=", "(?<!"):
            if self._text.startswith(opening, self._at):
                raise Untranslatable(f"look-around {opening}...)")
        named = re.compile(r"\(\?<\w+>").match(self._text, self._at)
        if named:
            self._at = named.end()
            return "(?:"
        self._at += 1
        return "("

    def _escape(self, in_class: bool = False) -> str:
        point = self._code_point()
        if point is not None:
            return _literal(chr(point))
        property_ = _PROPERTY.match(self._text, self._at)
        if property_:
            self._at = property_.end()
            return property_.group()
        char = self._text[self._at + 1 : self._at + 2]
        if char.lower() in _INSIDE:
            self._at += 2
            inside = _INSIDE[char.lower()]
            if char.isupper():
                return f"[^{inside}]"
            return inside if in_class else f"[{inside}]"
        return self._single(char, in_class)

    def _single(self, char: str, in_class: bool) -> str:
        if char == "c" and self._text[self._at + 2 : self._at + 3].isalpha():
            self._at += 3
            return _literal(chr(ord(self._text[self._at - 1]) % 32))
        self._at += 2
        if in_class and char == "b":
            return "\\x08"
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char and not char.isalnum():
            return _literal(char)
        raise Untranslatable(f"the escape \\{char}")

    def _code_point(self) -> int | None:
        found = _HEX.match(self._text, self._at)
        if not found:
            return None
        self._at = found.end()
        if found["high"]:
            high, low = int(found["high"], 16), int(found["low"], 16)
            return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
        point = int(found["long"] or found["four"] or found["two"], 16)
        if point > 0x10FFFF or 0xD800 <= point < 0xE000:
            raise Untranslatable("half a surrogate pair")
        return point

    def _class(self) -> str:
        start = self._at
        self._at += 1
        negated = self._text.startswith("^", self._at)
        self._at += negated
        members: list[str] = []
        while not self._text.startswith("]", self._at):
            if self._at >= len(self._text):
                raise Untranslatable("a class that is not closed")
            members.append(self._member())
            if self._is_range(members[-1]):
                self._at += 1
                members[-1] += "-" + self._member()
        self._at += 1
        if not members:
            if negated:
                return _ANY
            raise Untranslatable("an empty class")
        if not _mixes_up_quotes(self._text[start : self._at]):
            return f"[{'^' if negated else ''}{''.join(members)}]"
        self.narrowed = True
        if negated:
            return f"[^{''.join(members)}{_GIVEN_UP}]"
        return f"[[{''.join(members)}]--{_GIVEN_UP}]"

    def _is_range(self, member: str) -> bool:
        single = len(member) == 1 or (member[0] == "\\" and member[1] not in "pP")
        follows = self._text.startswith("-", self._at)
        last = self._text.startswith("-]", self._at)
        return single and follows and not last and member not in _INSIDE.values()

    def _member(self) -> str:
        if self._text.startswith("\\", self._at):
            return self._escape(in_class=True)
        char = self._text[self._at : self._at + 1]
        self._at += 1
        return _literal(char)


@lru_cache(maxsize=1024)
def _mixes_up_quotes(char_class: str) -> bool:
    finder = jsonschema_rs.validator_for({"pattern": f"^{char_class}$"})
    if all(map(finder.is_valid, '"\\')):
        return False
    return finder.is_valid("\x01")


def _literal(char: str) -> str:
    """One character as both dialects read it."""
    if char.isalnum() or char in " _\"'%,:;<=>@!`" or ord(char) > 0xFFFF:
        return char
    return f"\\x{ord(char):02X}" if ord(char) < 0x100 else f"\\u{ord(char):04X}"


def exactly(texts: Iterable[str]) -> str:
    """An anchored expression for these texts and no others."""
    return "^(?:" + "|".join("".join(map(_literal, text)) for text in texts) + ")$"


def all_but(texts: Sequence[str]) -> tuple[str, bool]:
    """An anchored expression for every text but these, and whether `CONTROL_LEFT_OUT` holds."""
    root: dict[str, dict[str, object]] = {}
    for text in texts:
        node: dict[str, object] = root  # type: ignore[assignment]
        for char in (*text, ""):
            node = node.setdefault(char, {})  # type: ignore[assignment]
    return f"^{_rest(root)}$", any('"' in text or "\\" in text for text in texts)


def _rest(node: dict[str, dict[str, object]]) -> str:
    """What may follow at this place of the tree of texts; the empty key marks an end."""
    onward = {char: below for char, below in node.items() if char}
    if not onward:
        return f"{_ANY}+"
    others = "".join(map(_literal, onward))
    if '"' in onward or "\\" in onward:
        others += _literal(next((chr(n) for n in range(1, 32) if chr(n) not in onward), "\x01"))
    ways = [f"[^{others}]{_ANY}*"]
    ways += [_literal(char) + _rest(below) for char, below in onward.items()]  # type: ignore[arg-type]
    return f"(?:{'|'.join(ways)}){'' if '' in node else '?'}"


def of_length(least: int, most: int | None) -> str:
    """An anchored expression for texts of so many characters."""
    return f"^{_ANY}{{{least},{'' if most is None else most}}}$"
