"""IPv4 and IPv6 addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv6Address

from vedette.redaction.scan import Scan
from vedette.redaction.span import Span

_V4 = re.compile(
    r"[0-9](?<![A-Za-z0-9_][0-9])(?<![0-9]\.[0-9])"
    r"[0-9]{0,2}(?:\.[0-9]{1,3}){3}(?![A-Za-z0-9_]|\.[0-9])"
)
_VERSION = re.compile(r"(?:\bv|version|release|版本)[ :=]*\Z", re.I)
_V6_BEFORE = re.compile(r"[0-9a-f:]{0,39}\Z", re.I)
_V6_AFTER = re.compile(r"[0-9a-f:]{2,39}(?:\.[0-9]{1,3}){0,3}", re.I)
_WORD_BEFORE = re.compile(r"[A-Za-z0-9_.]")
_WORD_AFTER = re.compile(r"[A-Za-z0-9_]|\.[0-9]")


class IpAddress:
    """Implements `Detector`. A dotted number after "version" is none."""

    kinds = frozenset({"ip"})

    def find(self, scan: Scan) -> Iterator[Span]:
        """See `Detector`."""
        text = scan.folded
        for found in _V4.finditer(text):
            start = found.start()
            if _is_v4(found[0]) and not _VERSION.search(text, max(0, start - 16), start):
                yield Span(*found.span(), "ip", "ipv4", 0.95, found[0])
        yield from _v6(text)


def _is_v4(value: str) -> bool:
    parts = value.split(".")
    return all(int(part) < 256 and (part == "0" or part[0] != "0") for part in parts)


def _v6(text: str) -> Iterator[Span]:
    done = 0
    at = _colons(text, 0)
    while at >= 0:
        if at >= done:
            before = _V6_BEFORE.search(text[max(0, at - 39) : at])
            start = at - len(before[0] if before else "")
            after = _V6_AFTER.match(text, at)
            end = after.end() if after else at + 1
            if span := _checked(text, start, end):
                yield span
            done = end
        at = _colons(text, max(at + 1, done))


_COLONS = re.compile(r":(?::|(?:[0-9A-Fa-f]{1,4}:){3})")


def _colons(text: str, start: int) -> int:
    """Where there are two colons together, or four with hexadecimal digits between them."""
    found = _COLONS.search(text, start)
    return found.start() if found else -1


def _checked(text: str, start: int, end: int) -> Span | None:
    while end > start and text[end - 1] == ":" and not text.endswith("::", start, end):
        end -= 1
    value = text[start:end]
    if (start and _WORD_BEFORE.match(text, start - 1)) or _WORD_AFTER.match(text, end):
        return None
    # Clock times have three groups and no pair of colons; `a::b` is code.
    if "::" not in value and value.count(":") + value.count(".") // 3 != 7:
        return None
    if not any(char.isdigit() for char in value) or len(value) < 4:
        return None
    try:
        address = IPv6Address(value)
    except ValueError:
        return None
    return Span(start, end, "ip", "ipv6", 0.95, address.compressed)
