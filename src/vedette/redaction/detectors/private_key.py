"""Private keys in PEM armour, with line ends or with the two characters JSON writes for them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vedette.redaction.scan import Scan
from vedette.redaction.span import Span

_BEGIN = "-----BEGIN "
_HEAD = re.compile(r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(r"-----END [A-Z0-9 ]{5,60}-----")
_MOST_CHARS = 24_000  # an RSA key of 16,384 bits has 12,800
# Without an END line: lines of base64, and headers such as "Proc-Type: 4,ENCRYPTED".
_BETWEEN = r"(?:\r?\n|\\r|\\n|[ \t>|\"',+]){1,40}"
_LINE = r"(?:[A-Z][A-Za-z-]+: [^\n\\]{1,200}|[A-Za-z0-9+/=]{16,4096})"
_CUT_OFF = re.compile(f"(?:{_BETWEEN}{_LINE}){{0,400}}")


class PrivateKey:
    """Implements `Detector`. A key without its END line is found as far as its lines go."""

    kinds = frozenset({"private_key"})

    def find(self, scan: Scan) -> Iterator[Span]:
        """See `Detector`."""
        text = scan.text
        at = text.find(_BEGIN)
        while at >= 0:
            end = at + 1
            if head := _HEAD.match(text, at):
                end = _end(text, head.end())
                yield Span(at, end, "private_key", "pem-private-key", 1.0, text[at:end])
            at = text.find(_BEGIN, end)


def _end(text: str, start: int) -> int:
    """Where the key whose BEGIN line ends at `start` ends."""
    limit = start + _MOST_CHARS
    another = text.find(_BEGIN, start, limit)
    last = _END.search(text, start, limit if another < 0 else another)
    if last:
        return last.end()
    found = _CUT_OFF.match(text, start, limit)
    return found.end() if found else start
