"""Names of people: white space, letter case, and the order of `Doe, John`."""

from __future__ import annotations

import re
import unicodedata

from .verdict import Unsettled
from .words import key, word_lists

MOST_WORDS = 6
MOST_HAN = 6  # without a point between the parts of a foreign name
_HAN = re.compile(r"[\u4e00-\u9fff]+")
_BETWEEN_HAN = re.compile(r"(?<=[\u4e00-\u9fff])\s+(?=[\u4e00-\u9fff])")


def clean_name(raw: str) -> str:
    """A name in the order in which it is spoken, in its usual letter case.

    The case is changed only where it says nothing: all capitals, or none. Raises `Unsettled`.
    """
    text = _BETWEEN_HAN.sub("", " ".join(raw.split()))
    text = text.strip(" ,;")
    if not any(map(str.isalpha, text)):
        raise Unsettled("not a name")
    if any(unicodedata.category(char).startswith("N") for char in text):
        raise Unsettled("a name with digits")
    text = _spoken(text)
    if not _can_be_name(text):
        raise Unsettled("more than a name")
    if text.isupper() or text.islower():
        words = text.split(" ")
        text = " ".join(_cased(word, is_first=n == 0) for n, word in enumerate(words))
        if not _can_be_name(text):  # letters without capitals
            raise Unsettled("more than a name")
    return text


def _can_be_name(text: str) -> bool:
    """Whether it has the length of a name, and no small words but those that stand in names."""
    words = text.split(" ")
    if len(words) > MOST_WORDS or re.search(r"[:;!?@/。，！？：；]", text):
        return False
    if _HAN.fullmatch(text):
        return len(text) <= MOST_HAN
    if text.islower():
        return True
    small = (word for word in words if word.islower() and word[0].islower())
    return all(word in word_lists()["names"]["particles"] for word in small)


def _spoken(text: str) -> str:
    """`Doe, John` as `John Doe`; what stands behind the comma may also be a suffix."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) == 1:
        return text
    if len(parts) > 2:
        raise Unsettled("more than one comma in a name")
    if any(map(_HAN.search, parts)):  # the family name stands first without a comma
        raise Unsettled("a comma in a Chinese name")
    last, first = parts
    if all(key(word) in word_lists()["names"]["suffixes"] for word in first.split()):
        return text
    return f"{first} {last}".strip()


def _cased(word: str, *, is_first: bool) -> str:
    lowered = word.lower()
    lists = word_lists()["names"]
    if lowered in lists["particles"] and not is_first:
        return lowered
    if lowered.strip(".") in ("ii", "iii", "iv"):
        return word.upper()
    return "-".join(_capital(part) for part in lowered.split("-"))


def _capital(part: str) -> str:
    """With capitals where a name has them: O'Brien, McKay."""
    for prefix in ("o'", "o’", "d'", "d’", "mc"):
        if part.startswith(prefix) and len(part) > len(prefix) + 1:
            rest = part[len(prefix) :]
            return prefix.capitalize() + rest[0].title() + rest[1:]
    return part[:1].title() + part[1:]
