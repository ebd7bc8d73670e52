"""Words as a POSIX shell reads them, each with its place; nothing is expanded or run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from .words import InlineLayout, Layout, Span, Word

_OPERATORS = frozenset(";&|()\n")
_DECLARERS = frozenset(("export", "local", "declare", "readonly", "typeset"))
_BLANKS = frozenset(" \t\r")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_EXPANSION = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?:\[[@*]\])?\})")
_WHOLE = re.compile(r"\$(?:\w+|[@*]|\{[^{}]*\}|\(.*\))|`[^`]*`", re.DOTALL)
_SEVERAL = ("[@]", "[*]", "$@")  # what stays several words within quotes
INLINE = InlineLayout()


@dataclass(frozen=True, slots=True)
class Rules:
    """What else than words there is: a shell has operators and comments, other texts have not."""

    operators: bool = True
    comments: bool = True
    newline_ends: bool = True


SHELL = Rules()
PLAIN = Rules(operators=False, comments=False, newline_ends=False)


@dataclass(frozen=True, slots=True)
class Simple:
    """One simple command: its words, in the shell's sense, assignments included."""

    words: tuple[Word, ...]


def simple_commands(
    text: str, span: Span, rules: Rules = SHELL, layout: Layout = INLINE
) -> list[Simple]:
    """The simple commands in a part of the text; `$NAME` becomes what an array or text held."""
    lexer = _Lexer(text, span, rules, layout)
    lexer.run()
    return [Simple(_expanded(words, lexer.held)) for words in lexer.commands if words]


def _expanded(words: list[Word], held: Mapping[str, tuple[Word, ...]]) -> tuple[Word, ...]:
    """Where a word is nothing but a variable that was set above, the words that it holds."""
    found: list[Word] = []
    for word in words:
        match = _EXPANSION.fullmatch(word.value) if word.opaque else None
        name = (match[1] or match[2]) if match else ""
        found.extend(held.get(name) or (word,))
    return tuple(found)


class _Lexer:
    """A position in the text. `commands` and `held` (variables that hold words) are the result."""

    def __init__(self, text: str, span: Span, rules: Rules, layout: Layout) -> None:
        self._text, self._at, self._end = text, span.start, span.end
        self._rules, self._layout = rules, layout
        self.commands: list[list[Word]] = []
        self.held: dict[str, tuple[Word, ...]] = {}
        self._current: list[Word] = []
        self._before = span.start  # where what stands before the next word ends
        self._skip_next = False

    def run(self) -> None:
        """Read all of it."""
        while self._at < self._end:
            char = self._text[self._at]
            if self._continued() or char in _BLANKS or self._is_soft_newline(char):
                self._at += self._continued() or 1
            elif self._rules.comments and char == "#":
                self._to_end_of_line()
            elif self._rules.operators and char in _OPERATORS:
                self._end_command()
                self._at += 1
            elif self._rules.operators and self._redirection():
                self._skip_next = True
            else:
                self._take_word()
        self._end_command()

    def _continued(self) -> int:
        """How long a backslash with the end of its line is; 0 if none stands here."""
        ends = ("\\\n", "\\\r\n")
        return next((len(end) for end in ends if self._text.startswith(end, self._at)), 0)

    def _is_soft_newline(self, char: str) -> bool:
        return char == "\n" and not self._rules.newline_ends

    def _to_end_of_line(self) -> None:
        end = self._text.find("\n", self._at, self._end)
        self._at = self._end if end < 0 else end

    def _redirection(self) -> bool:
        match = re.compile(r"\d*(?:>>|>&|<<<|<<-?|>|<)").match(self._text, self._at, self._end)
        if match is None or self._text.startswith(("<(", ">("), self._at):
            return False
        self._at = match.end()
        return True

    def _end_command(self) -> None:
        self.commands.append(self._current)
        self._current, self._skip_next = [], False

    def _take_word(self) -> None:
        start = self._at
        value, dynamic, quoted = self._read_word()
        if self._skip_next:  # the file of a redirection is no word of the command
            self._skip_next = False
            self._before = self._at
            return
        # the first word takes the blanks after it along, the others what stands before them
        before = self._before if self._current else start
        after = self._at if self._current else self._past_blanks(self._at)
        opaque = dynamic and _WHOLE.fullmatch(value) is not None
        if quoted and not any(mark in value for mark in _SEVERAL):
            opaque = False
        word = Word(
            Span(start, self._at),
            value,
            Span(before, after),
            self._layout,
            dynamic=dynamic,
            opaque=opaque,
        )
        self._before = self._at
        if _ASSIGNMENT.match(value) and all(each.value in _DECLARERS for each in self._current[:1]):
            self._hold(word)
        self._current.append(word)

    def _past_blanks(self, at: int) -> int:
        while at < self._end and self._text[at] in _BLANKS:
            at += 1
        return at

    def _hold(self, word: Word) -> None:
        """Remember the words of NAME="..." and NAME=(...)."""
        raw = self._text[word.span.start : word.span.end]
        equals = raw.index("=")
        name, body = raw[:equals].rstrip("+"), raw[equals + 1 :]
        start = word.span.start + equals + 1
        if self._rules.operators and self._text.startswith("(", self._at) and not body:
            inner = self._array()
        elif len(body) > 1 and body[0] in "\"'" and body[-1] == body[0] and "\\" not in body:
            inner = Span(start + 1, word.span.end - 1)
        else:
            return
        rules = replace(PLAIN, comments=True)
        commands = simple_commands(self._text, inner, rules, self._layout)
        words = tuple(each for command in commands for each in command.words)
        held = self.held.get(name, ()) if raw[equals - 1] == "+" else ()
        self.held[name] = held + tuple(replace(each, shared=True) for each in words)

    def _array(self) -> Span:
        """What stands between parentheses; goes past them."""
        start = self._at + 1
        self._at = start
        while self._at < self._end and self._text[self._at] != ")":
            char = self._text[self._at]
            if char in _BLANKS or char == "\n" or self._continued():
                self._at += self._continued() or 1
            elif char == "#":
                self._to_end_of_line()
            elif char in _OPERATORS or char in "<>":
                self._at += 1
            else:
                self._read_word()
        inner = Span(start, self._at)
        self._at = min(self._at + 1, self._end)
        return inner

    def _read_word(self) -> tuple[str, bool, bool]:
        """Value, whether it holds an expansion, whether any of it is quoted."""
        value: list[str] = []
        dynamic = quoted = False
        while self._at < self._end:
            char = self._text[self._at]
            if char in _BLANKS or char == "\n" or self._continued():
                break
            if self._rules.operators and self._text.startswith(("<(", ">("), self._at):
                value.append(self._expansion())
                dynamic = True
                continue
            if self._rules.operators and (char in _OPERATORS or char in "<>"):
                break
            if char == "\\":
                value.append(self._text[self._at + 1 : self._at + 2])
                self._at += 2
                continue
            if char in "\"'":
                closed = self._quoted(char, value)
                quoted = quoted or closed is not None
                dynamic = dynamic or closed is True
                continue
            if char in "$`":
                value.append(self._expansion())
                dynamic = True
                continue
            value.append(char)
            self._at += 1
        self._at = min(self._at, self._end)
        return "".join(value), dynamic, quoted

    def _quoted(self, quote: str, value: list[str]) -> bool | None:
        """Read to the closing quote: whether it held an expansion; None if it is never closed."""
        start, dynamic = self._at, False
        content: list[str] = []
        self._at += 1
        while self._at < self._end:
            char = self._text[self._at]
            if char == quote:
                self._at += 1
                value.append("".join(content))
                return dynamic
            following = self._text[self._at + 1 : self._at + 2]
            if quote == '"' and char == "\\" and following and following in '"\\$`':
                content.append(following)
                self._at += 2
            elif quote == '"' and char in "$`":
                content.append(self._expansion())
                dynamic = True
            else:
                content.append(char)
                self._at += 1
        self._at = start + 1  # an apostrophe of prose: a character like any other
        value.append(quote)
        return None

    def _expansion(self) -> str:
        """`$NAME`, `${...}`, `$(...)` or a command in backticks, as it is written."""
        start = self._at
        opening = "`" if self._text[start] == "`" else self._text[start + 1 : start + 2]
        closing = {"(": ")", "{": "}", "`": "`"}.get(opening)
        if closing is None:
            match = re.compile(r"\$(?:[A-Za-z_]\w*|.)?").match(self._text, start, self._end)
            self._at = match.end() if match else start + 1
            return self._text[start : self._at]
        depth, self._at = 1, start + (1 if opening == "`" else 2)
        while self._at < self._end and depth:
            char = self._text[self._at]
            depth += (char == opening and opening != "`") - (char == closing)
            self._at += 1
        return self._text[start : self._at]
