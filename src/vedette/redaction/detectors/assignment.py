"""Secrets that only the name before them gives away: `password=...`, `"api_key": "..."`."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator

from vedette.redaction.scan import Scan
from vedette.redaction.span import Span

# Names of passwords: whatever follows is one. Names of keys: what follows must look like one.
_PASSWORDS = ("password", "passwd", "passphrase", "passcode", "pwd", "secret", "密码", "口令")
_KEYS = ("token", "key", "credential", "authorization", "bearer", "密钥", "令牌")
_KEY_KIND = re.compile(
    r"(?:api|access|account|secret|private|encryption|encrypt|signing|auth|master|shared|storage"
    r"|service|client|license|webhook|app)[_\- .]?\Z"
)
_ASSIGNED = re.compile(
    r"[\w-]{0,24}?(?P<quote>[\"'`]?)[\])]?\s{0,3}(?::=|=>|==|=|:|是|为|\bis\b)\s{0,3}"
)
_FLAG = re.compile(r"[ ]")
_SCHEME = re.compile(r"(?:bearer|basic|token|bot)\s+", re.I)
_QUOTED = re.compile(r"(?P<q>\\?[\"'`])(?P<value>(?:(?!(?P=q))(?:\\.|[^\n\\])){1,500})(?P=q)")
_PLAIN = re.compile(r"[^\s\"'`,;<>(){}\[\]|，。；、\\]{1,500}")

_PLACEHOLDER = re.compile(
    r"\$\{?.*|%.*%?|<.*>?|\{.*\}?|\*+|\.{3,}|x{3,}|•+|-+|_+|(?:your|my|the|enter|some)[ _-].*"
    r"|null|none|nil|true|false|undefined|yes|no|empty|required|optional|string|redacted|masked|hidden"
    r"|example.*|changeme|password|secret|token|pass|os\.environ.*|process\.env.*|env\..*|getenv.*|\[\w+_\d+.*",
    re.I,
)
_REFERENCE = re.compile(r"[A-Za-z_][A-Za-z_]*(?:(?:\.|->|::)[A-Za-z_][\w]*)*[.!?]?")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)
_PATH = re.compile(r"(?:[a-z]+://|[.~]?/)[^@]*", re.I)

LEAST_PASSWORD_CHARS = 4
LEAST_KEY_CHARS = 16
LEAST_ENTROPY_BITS = 3.0


class Assignment:
    """Implements `Detector`. Kind `secret`; the name and the quotes stay."""

    kinds = frozenset({"secret"})

    def find(self, scan: Scan) -> Iterator[Span]:
        """See `Detector`."""
        for names, is_password in ((_PASSWORDS, True), (_KEYS, False)):
            for name in names:
                at = scan.lowered.find(name)
                while at >= 0:
                    if span := _after(scan, at, name, is_password):
                        yield span
                    at = scan.lowered.find(name, at + len(name))


def _after(scan: Scan, at: int, name: str, is_password: bool) -> Span | None:
    """The value assigned to the name at this place."""
    text, start = scan.folded, at + len(name)
    if name == "key" and not _KEY_KIND.search(scan.lowered, max(0, at - 12), at):
        return None
    if assigned := _ASSIGNED.match(scan.lowered, start):
        start = assigned.end()
    elif _is_flag(scan.lowered, at) or name == "bearer":
        space = _FLAG.match(text, start)
        if space is None:
            return None
        start = space.end()
    else:
        return None
    if scheme := _SCHEME.match(text, start):
        start = scheme.end()
    quoted = _QUOTED.match(text, start)
    found = quoted or _PLAIN.match(text, start)
    if found is None:
        return None
    first, last = found.span("value") if quoted else found.span()
    value = text[first:last]
    if not quoted:
        value = value.rstrip(".!?:&")
        last = first + len(value)
        if text.startswith("(", last) or text.startswith("[", last):
            return None  # a call, a look-up: code, not a value
        value, last = _to_ampersand(value, first)
    if not (_is_password(value, bool(quoted)) if is_password else _is_key(value)):
        return None
    return Span(
        first, last, "secret", f"assigned-{'password' if is_password else 'key'}", 0.7, value
    )


def _is_flag(lowered: str, at: int) -> bool:
    """Whether the name belongs to an option: `--db-password VALUE`."""
    return re.search(r"(?:^|\s)--?[a-z-]*\Z", lowered[max(0, at - 24) : at]) is not None


def _to_ampersand(value: str, first: int) -> tuple[str, int]:
    """In a query string the value ends at the next `&`."""
    value = value.partition("&")[0]
    return value, first + len(value)


def _is_password(value: str, quoted: bool) -> bool:
    if len(value) < LEAST_PASSWORD_CHARS or _PLACEHOLDER.fullmatch(value):
        return False
    if quoted:
        return " " not in value.strip() or any(char.isdigit() for char in value)
    return not _REFERENCE.fullmatch(value) and not _PATH.fullmatch(value) and value.isascii()


def _is_key(value: str) -> bool:
    """Long, mixed and random enough, and no UUID, path or name."""
    if len(value) < LEAST_KEY_CHARS or " " in value or not value.isascii():
        return False
    if any(form.fullmatch(value) for form in (_PLACEHOLDER, _REFERENCE, _UUID, _PATH)):
        return False
    has_digit = any(char.isdigit() for char in value)
    has_letter = any(char.isalpha() for char in value)
    return has_digit and has_letter and _entropy_bits(value) >= LEAST_ENTROPY_BITS


def _entropy_bits(value: str) -> float:
    """Shannon entropy of its characters, in bits for each."""
    n = len(value)
    return -sum(count / n * math.log2(count / n) for count in Counter(value).values())
