"""E-mail addresses, those with letters beyond ASCII too (RFC 6531)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vedette.redaction.scan import Scan
from vedette.redaction.span import Span

# Scripts that write no spaces would run on into the address: their letters are none of it.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_LETTER = rf"(?:[^\W{_UNSPACED}])"
# Matched from the @ backwards, on the reversed text.
_BEFORE = re.compile(rf"(?:[^\W{_UNSPACED}]|[.!#$%&'*+/=?^`{{|}}~-]){{1,64}}")
_LABEL = rf"{_LETTER}(?:(?:{_LETTER}|-){{0,61}}{_LETTER})?"
_AFTER = re.compile(
    rf"@(?:{_LABEL}\.){{1,8}}(?:xn--[a-z0-9-]{{2,59}}|[^\W\d_]{{2,24}})(?![\w-])", re.I
)
_AFTER_UNSPACED = re.compile(r"@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,8}[a-z]{2,24}", re.I)
_IN_URL = re.compile(r"://[^\s/@]*:[^\s/@]*\Z")


class Email:
    """Implements `Detector`."""

    kinds = frozenset({"email"})

    def find(self, scan: Scan) -> Iterator[Span]:
        """See `Detector`."""
        text = scan.folded
        at = text.find("@")
        while at >= 0:
            if span := _around(text, at):
                yield span
            at = text.find("@", at + 1)


def _around(text: str, at: int) -> Span | None:
    before = _BEFORE.match(text[max(0, at - 64) : at][::-1])
    after = _AFTER.match(text, at) or _AFTER_UNSPACED.match(text, at)
    if before is None or after is None:
        return None
    local = before[0][::-1].lstrip(".!#$%&'*+/=?^`{|}~-")
    start = at - len(local)
    if not local or local.endswith(".") or _IN_URL.search(text, max(0, start - 200), start):
        return None
    return Span(start, after.end(), "email", "email", 1.0, text[start : after.end()].lower())
