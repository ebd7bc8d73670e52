"""systemd units: ExecStart= with its continuations, and Environment=."""

from __future__ import annotations

import re
from dataclasses import replace

from .lexer import Rules, simple_commands
from .source_shell import assignment, command_of, shell_commands
from .words import Command, EnvEntry, Span, Word

_LINE = re.compile(r"^[ \t]*(ExecStart|Environment)[ \t]*=[ \t]*", re.MULTILINE)
_PREFIXES = "-@:+!|"
_RULES = Rules(operators=False, comments=True, newline_ends=False)


def systemd_commands(text: str) -> list[Command]:
    """The llama-servers that a unit starts."""
    env: list[EnvEntry] = []
    starts: list[Span] = []
    for match in _LINE.finditer(text):
        span = Span(match.end(), _end_of_logical_line(text, match.end()))
        if match[1] == "ExecStart":
            starts.append(span)
        else:
            whole = Span(match.start(), min(span.end + 1, len(text)))
            env += _environment(text, span, whole)
    return [command for span in starts for command in _started(text, span, env)]


def _end_of_logical_line(text: str, start: int) -> int:
    """Where a value ends that goes on after each backslash at a line's end."""
    at = start
    while True:
        end = text.find("\n", at)
        if end < 0:
            return len(text)
        line = text[at:end].strip()
        is_comment = at > start and line.startswith(("#", ";"))  # it may stand between
        if not line.endswith("\\") and not is_comment:
            return end
        at = end + 1


def _started(text: str, span: Span, env: list[EnvEntry]) -> list[Command]:
    while span.start < span.end and text[span.start] in _PREFIXES:
        span = Span(span.start + 1, span.end)
    words = [each for simple in simple_commands(text, span, _RULES) for each in simple.words]
    words = [replace(each, dynamic=True) if _has_specifier(each) else each for each in words]
    command = command_of(words, env)
    if command is not None:
        return [command]
    inner = shell_commands(text, span)  # ExecStart=/bin/sh -c '...'
    return [replace(each, env=(*env, *each.env)) for each in inner]


def _has_specifier(word: Word) -> bool:
    return re.search(r"(?<!%)%[a-zA-Z]", word.value) is not None


def _environment(text: str, span: Span, whole: Span) -> list[EnvEntry]:
    """`NAME=value` words, each perhaps in quotes; a line with one of them goes as a whole."""
    words = [each for simple in simple_commands(text, span, _RULES) for each in simple.words]
    found = []
    for word in words:
        quoted = text[word.span.start] in "\"'"
        entry = assignment(word)
        if entry is not None:
            start = word.span.start + quoted
            entry.name_span = Span(start, start + len(entry.written))
            if len(words) == 1:
                entry.removal = whole
            found.append(entry)
    return found
