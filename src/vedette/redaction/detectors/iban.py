"""International bank account numbers (ISO 13616): country, length, structure, modulo 97."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from stdnum import iban, numdb

from vedette.redaction.fold import INVISIBLE
from vedette.redaction.scan import Scan
from vedette.redaction.span import Span

_PART = re.compile(r"([1-9][0-9]*)!")
_BEGINS = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z]{2}[0-9]{2}[ \-" + INVISIBLE + r"]?[A-Za-z0-9]")
_AFTER = re.compile(r"[A-Za-z0-9_]")


class Iban:
    """Implements `Detector`. Small letters count only shortly after the word "IBAN"."""

    kinds = frozenset({"iban"})

    def find(self, scan: Scan) -> Iterator[Span]:
        """See `Detector`."""
        for start in scan.codes:
            if _BEGINS.match(scan.folded, start) and (span := _at(scan.folded, start)):
                yield span
        at = scan.lowered.find("iban")
        while at >= 0:
            found = _BEGINS.search(scan.folded, at + 4, at + 40)
            if found and (span := _at(scan.folded, found.start())):
                yield span
            at = scan.lowered.find("iban", at + 4)


def _at(text: str, start: int) -> Span | None:
    """The number that begins here, as long as its country says."""
    length = _length(text[start : start + 2].upper())
    value, end = "", start
    while len(value) < length and end < len(text):
        char = text[end]
        if char.isascii() and char.isalnum():
            value += char
        elif char not in f" -{INVISIBLE}" or not text[end - 1].isalnum():
            break
        end += 1
    if not length or len(value) < length or _AFTER.match(text, end):
        return None
    if not iban.is_valid(value, check_country=False):
        return None
    return Span(start, end, "iban", "iban", 1.0, value.upper())


@lru_cache(maxsize=1024)
def _length(country: str) -> int:
    """Characters of an IBAN of this country; 0 if it has none."""
    structure = numdb.get("iban").info(country + "00")[0][1].get("bban", "")
    return 4 + sum(int(n) for n in _PART.findall(structure)) if structure else 0
