"""Whether a part that a model copied out of a value may be read on its own."""

from __future__ import annotations

import re

from .chinese import LARGE, SMALL
from .words import key, word_lists

_MARKS = r"[\s.,:'’/\-−–+%]"
_NUMBER_BEFORE = re.compile(rf"(?:\d{_MARKS}{{0,2}}|[-−–+]\s?)$")
_NUMBER_AFTER = re.compile(rf"^(?:{_MARKS}{{0,2}}\d|\s?[%‰])")
_WORD_AFTER = re.compile(r"^\s?([^\W\d_]+)")


def cuts_a_number(span: str, text: str) -> bool:
    """Whether the span begins or ends within a number, wherever it stands in the text.

    A part of `1,234.50`, the `3` of `3 million` or of `-3`, the `5 ft` of `5 ft 11 in` would be
    read as another number than the one that is written.
    """
    places = [found.start() for found in re.finditer(re.escape(span), text)]
    return all(_is_cut(text[:at], span, text[at + len(span) :]) for at in places)


def _is_cut(before: str, span: str, after: str) -> bool:
    if _starts_with_number(span) and _NUMBER_BEFORE.search(before):
        return True
    if not span[-1].isdigit():
        return bool(any(map(str.isdigit, span)) and re.match(rf"{_MARKS}{{0,2}}\d", after))
    if _NUMBER_AFTER.match(after) or after.strip()[:1] in {*SMALL, *LARGE}:
        return True
    word = _WORD_AFTER.match(after)
    return word is not None and key(word[1]) in word_lists()["scales"]


def _starts_with_number(span: str) -> bool:
    return span[0].isdigit() or span[0] in ".,"
