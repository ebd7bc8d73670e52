"""The short rules: text, true or false, countries, one of a list."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache

from vedette.types import Json

from .verdict import Unsettled, ambiguous
from .words import country_codes, country_names, key, plain, word_lists


def clean_text(raw: str) -> str:
    """Without control characters, white space at the ends and runs of it."""
    kept = (char if char.isspace() or unicodedata.category(char) != "Cc" else "" for char in raw)
    return " ".join("".join(kept).replace("\ufeff", "").replace("\u200b", "").split())


def clean_boolean(raw: Json) -> bool:
    """True or false by their words in several languages. Raises `Unsettled`."""
    if isinstance(raw, bool):
        return raw
    word = key(str(raw))
    lists = word_lists()["booleans"]
    if word in lists["true"]:
        return True
    if word in lists["false"]:
        return False
    raise Unsettled("neither true nor false")


def clean_country(raw: str) -> str:
    """The two-letter code of ISO 3166-1, from a code or a name. Raises `Unsettled`."""
    text = plain(raw)
    code = text.upper()
    if text.isascii() and code in country_codes():  # ß in capitals is SS, which is no South Sudan
        return code
    found = country_names().get(key(raw))
    if found is None:
        raise Unsettled("no country that is known")
    return found


def clean_choice(raw: Json, choices: Sequence[Json], synonyms: Mapping[str, Sequence[str]]) -> Json:
    """The one of `choices` that the value is, in whatever case, or a synonym of it.

    Raises `Unsettled`.
    """
    if raw in choices and not isinstance(raw, bool):
        return raw
    wanted = _folded(str(raw))
    names: dict[str, list[Json]] = {}
    for choice in choices:
        for name in (str(choice), *synonyms.get(str(choice), ())):
            known = names.setdefault(_folded(name), [])
            if choice not in known:
                known.append(choice)
    meant = names.get(wanted, [])
    if len(meant) > 1:
        raise ambiguous(*meant)
    if not meant:
        raise Unsettled("none of the values")
    return meant[0]


def _folded(text: str) -> str:
    """Without case, white space and punctuation."""
    return "".join(char for char in key(text) if char.isalnum()) or key(text)


def is_missing(raw: Json) -> bool:
    """Whether a value says that there is none."""
    return raw is None or (isinstance(raw, str) and key(raw) in _missing())


@cache
def _missing() -> frozenset[str]:
    return frozenset(map(key, word_lists()["missing"]))
