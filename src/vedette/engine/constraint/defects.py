"""What a JSON text may not have and no schema speaks of: names twice, numbers without a value."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass

_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?")
_scan_string = json.decoder.scanstring  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Defect:
    """A sentence, and where in the text it is: characters `[start, end)`."""

    message: str
    start: int
    end: int


def first_defect(text: str) -> Defect | None:
    """The first name that stands twice in its object, or number beyond a double.

    `text` is valid JSON. Raises `ValueError` where it is not, if that is noticed.
    """
    names: list[set[str] | None] = []  # of the objects that are open; None for a list
    expects_name = False
    at = 0
    while at < len(text):
        letter = text[at]
        if letter == '"':
            value, end = _scan_string(text, at + 1)
            open_names = names[-1] if names else None
            if expects_name and open_names is not None:
                if value in open_names:
                    return Defect(f"the name {value[:40]!r} stands twice", at, end)
                open_names.add(value)
            expects_name, at = False, end
        elif found := _NUMBER.match(text, at):
            if not math.isfinite(float(found.group())):
                shown = found.group()[:40]
                return Defect(f"{shown} is beyond what a double can hold", at, found.end())
            at = found.end()
        else:
            if letter in "{[":
                names.append(set() if letter == "{" else None)
            elif letter in "}]" and names:
                names.pop()
            if letter in "{,":
                expects_name = bool(names) and names[-1] is not None
            at += 1
    return None
