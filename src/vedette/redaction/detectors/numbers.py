"""Numbers that a check digit or a strict form gives away, looked for where digits stand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from vedette.redaction.context import in_uuid
from vedette.redaction.context import is_named as named
from vedette.redaction.fold import INVISIBLE
from vedette.redaction.scan import Scan
from vedette.redaction.span import Span

GAP = rf"[ \-{INVISIBLE}]?"
_AFTER = r"(?![A-Za-z0-9_]|[-.][0-9])"
_DIGIT_BEFORE = re.compile(r"[A-Z0-9][ \-]\Z")
_DIGIT_AFTER = re.compile(r"[ \-][0-9]")
# The beginning of an account number whose rest this is; whole, it would not be looked at again.
_ACCOUNT_BEFORE = re.compile(r"(?<![A-Z0-9])[A-Z]{2}[0-9]{2} (?:[A-Z0-9]{4} ){0,7}\Z")
_NONE = re.compile("(?!)")
NAMED_SCORE = 0.95
_NOT_VALUE = re.compile(r"[^A-Za-z0-9]")


@dataclass(frozen=True)
class NumberRule:
    """Implements `Detector`: a form, and what a number of that form must pass.

    `form` is a pattern from the first digit to the last character; a number of that form begins
    with no fewer than `digits` digits, separators aside. `is_valid` gets the number without them.
    Where `names` are given, one of them must stand before it, unless `plain` matches its spelling,
    which then is telling enough if no other digits stand beside it.
    """

    kind: str
    rule: str
    digits: int
    form: str
    is_valid: Callable[[str], bool]
    score: float = 1.0
    names: re.Pattern[str] | None = None
    plain: str | None = None

    @cached_property
    def _form(self) -> re.Pattern[str]:
        return re.compile(f"(?:{self.form}){_AFTER}")

    @cached_property
    def _plain(self) -> re.Pattern[str]:
        return re.compile(self.plain) if self.plain else _NONE

    @property
    def kinds(self) -> frozenset[str]:
        """See `Detector`."""
        return frozenset({self.kind})

    def find(self, scan: Scan) -> Iterator[Span]:
        """See `Detector`."""
        match = self._form.match
        done = 0
        for start in scan.starts(self.digits):
            if start < done or not (found := match(scan.folded, start)):
                continue
            if span := self._checked(scan, found):
                yield span
                done = span.end

    def _checked(self, scan: Scan, found: re.Match[str]) -> Span | None:
        start, end = found.span()
        is_named = self.names is not None and named(scan, start, self.names)
        if self.names is not None and not is_named and not self._is_plain(scan, found):
            return None
        value = _NOT_VALUE.sub("", found[0]).upper()
        if not self.is_valid(value) or in_uuid(scan, start, end):
            return None
        if not is_named and _ACCOUNT_BEFORE.search(scan.folded, max(0, start - 40), start):
            return None
        score = max(self.score, NAMED_SCORE) if is_named else self.score
        return Span(start, end, self.kind, self.rule, score, value)

    def _is_plain(self, scan: Scan, found: re.Match[str]) -> bool:
        start, end = found.span()
        return (
            self._plain.fullmatch(found[0]) is not None
            and not _DIGIT_BEFORE.search(scan.folded, max(0, start - 2), start)
            and not _DIGIT_AFTER.match(scan.folded, end)
        )
