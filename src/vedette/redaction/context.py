"""What stands around a candidate: words that say what it is, and things it must not be part of."""

from __future__ import annotations

import re

from .scan import Scan

REACH = 40
"""How many characters before a value its word may stand."""

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_UUID_CHARS = 36


def words(*given: str) -> re.Pattern[str]:
    """A pattern for names of values, small letters, with little and no other number after them.

    The value may stand on the next line if the line of its name ends in a colon.
    """
    between = r"(?:[^0-9\n]|(?<![0-9])[0-9](?![0-9])|(?<=:)\n){0,32}"
    return re.compile(rf"(?<![a-z])(?:{'|'.join(given)})(?![a-z]){between}\Z")


def is_named(scan: Scan, start: int, names: re.Pattern[str]) -> bool:
    """Whether one of the names (see `words`) stands shortly before."""
    return names.search(scan.lowered, max(0, start - REACH), start) is not None


def in_uuid(scan: Scan, start: int, end: int) -> bool:
    """Whether it is a piece of a UUID."""
    if end - start > _UUID_CHARS or "-" not in scan.folded[max(0, start - 1) : end + 1]:
        return False
    first = max(0, start - _UUID_CHARS)
    around = _UUID.finditer(scan.lowered, first, end + _UUID_CHARS)
    return any(found.start() <= start and end <= found.end() for found in around)
