"""Patterns of the user's own, from a TOML file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vedette.errors import FileError, InputError
from vedette.redaction.placeholders import KIND
from vedette.redaction.scan import Scan
from vedette.redaction.span import Span

from .base import MAX_SPAN_CHARS

_KEYS = {"kind", "regex", "score", "ignore_case"}


@dataclass(frozen=True)
class Pattern:
    """Implements `Detector`: a regular expression; its first group if it has one is the span."""

    kind: str
    regex: re.Pattern[str]
    score: float = 0.9

    @property
    def kinds(self) -> frozenset[str]:
        """See `Detector`."""
        return frozenset({self.kind})

    def find(self, scan: Scan) -> Iterator[Span]:
        """See `Detector`. Raises `InputError` for a match that is too long to be held."""
        group = 1 if self.regex.groups else 0
        for found in self.regex.finditer(scan.text):
            start, end = found.span(group)
            if end - start > MAX_SPAN_CHARS:
                raise InputError(
                    f"the pattern for {self.kind} matches {end - start:,} characters; "
                    f"{MAX_SPAN_CHARS:,} is the most",
                    hint="bound its repetitions",
                )
            if end > start:
                yield Span(start, end, self.kind, "pattern", self.score, scan.text[start:end])


def read_patterns(path: str) -> tuple[Pattern, ...]:
    """The `[[pattern]]` tables of a file. Raises `FileError`, or `InputError` for a wrong one."""
    try:
        content = tomllib.loads(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"cannot read the patterns in {path}: {reason}") from error
    tables = content.get("pattern")
    if content.keys() != {"pattern"} or not isinstance(tables, list) or not tables:
        raise InputError(f"{path} must have [[pattern]] tables and nothing else")
    return tuple(_pattern(table, f"{path}, pattern {i}") for i, table in enumerate(tables, 1))


def _pattern(table: Any, where: str) -> Pattern:
    if not isinstance(table, dict) or not {"kind", "regex"} <= table.keys() <= _KEYS:
        raise InputError(f"{where}: it needs kind and regex, and may have score and ignore_case")
    kind, score = table["kind"], table.get("score", 0.9)
    if not isinstance(kind, str) or not KIND.fullmatch(kind):
        raise InputError(f"{where}: the kind {kind!r} must be small letters, digits and _")
    if not isinstance(score, int | float) or not 0 < score <= 1:
        raise InputError(f"{where}: the score {score!r} must be over 0 and at most 1")
    try:
        regex = re.compile(str(table["regex"]), re.I if table.get("ignore_case") else 0)
    except re.error as error:
        raise InputError(f"{where}: the regex is none: {error}") from error
    if regex.groups > 1:
        raise InputError(f"{where}: the regex has {regex.groups} groups; one is the most")
    if regex.fullmatch(""):
        raise InputError(f"{where}: the regex matches the empty text")
    return Pattern(kind, regex, float(score))
