"""The word lists of the rules, from `words.toml` and Unicode's locale data (CLDR, by Babel)."""

from __future__ import annotations

import tomllib
import unicodedata
from functools import cache
from importlib.resources import files
from typing import Any, cast

LANGUAGES = (
    *("en", "zh", "zh_Hant", "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "ja", "ko", "sv"),
    *("da", "nb", "fi", "cs", "tr"),
)


@cache
def word_lists() -> dict[str, Any]:
    """`words.toml`."""
    text = files("vedette.tasks.clean").joinpath("words.toml").read_text("utf-8")
    return tomllib.loads(text)


def plain(text: str) -> str:
    """A value as rules read it: compatibility forms and white space made equal, ends trimmed."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def key(text: str) -> str:
    """A word as it is looked up: case and the full stop of an abbreviation do not count."""
    return plain(text).casefold().strip(" .")


@cache
def month_names() -> dict[str, int]:
    """Month by name in every language of `LANGUAGES`.

    A name that means two months in two languages is English, or no name at all.
    """
    from babel import Locale

    found: dict[str, set[int]] = {}
    english: dict[str, int] = {}
    for language in LANGUAGES:
        months = Locale.parse(language).months
        for context in ("format", "stand-alone"):
            for width in ("wide", "abbreviated"):
                for number, name in months[context][width].items():
                    if (word := key(name)) and not word[0].isdigit():
                        found.setdefault(word, set()).add(number)
                        if language == "en":
                            english[word] = number
    english["sept"] = 9
    sure = {word: next(iter(numbers)) for word, numbers in found.items() if len(numbers) == 1}
    return {**sure, **english}


@cache
def weekday_names() -> frozenset[str]:
    """The names of the days of the week."""
    from babel import Locale

    found = set()
    for language in LANGUAGES:
        days = Locale.parse(language).days
        for width in ("wide", "abbreviated"):
            found |= {key(name) for name in days["format"][width].values()}
    return frozenset(found)


@cache
def country_codes() -> frozenset[str]:
    """The two-letter codes of ISO 3166-1."""
    from babel import Locale

    # CLDR has these besides: regions that are no countries, and codes that are not assigned.
    no_country = {
        "AC",
        "CP",
        "CQ",
        "DG",
        "EA",
        "EU",
        "EZ",
        "IC",
        "QO",
        "TA",
        "UN",
        "XA",
        "XB",
        "ZZ",
    }
    codes = {str(code) for code in Locale.parse("en").territories}
    return frozenset(code for code in codes - no_country if len(code) == 2 and code.isalpha())


@cache
def country_names() -> dict[str, str]:
    """Two-letter code by name, by three-letter code and by `[countries]` of `words.toml`."""
    from babel import Locale
    from babel.core import get_global

    found: dict[str, set[str]] = {}
    for language in LANGUAGES:
        for code, name in Locale.parse(language).territories.items():
            if code in country_codes():
                found.setdefault(key(name), set()).add(code)
    for alias, replaced in cast(dict[str, list[str]], get_global("territory_aliases")).items():
        if len(alias) == 3 and alias.isalpha() and len(replaced) == 1:
            found.setdefault(key(alias), set()).update(country_codes() & set(replaced))
    names = {name: next(iter(codes)) for name, codes in found.items() if len(codes) == 1}
    own: dict[str, str] = word_lists()["countries"]
    return {**names, **{key(name): code for name, code in own.items()}}


@cache
def currency_codes() -> frozenset[str]:
    """The codes of ISO 4217, those of former currencies too."""
    from babel.numbers import list_currencies

    return frozenset(map(str, list_currencies()))


@cache
def currency_names() -> dict[str, tuple[str, ...]]:
    """The codes that a symbol, name or code of a currency may mean."""
    from babel import Locale

    codes = currency_codes()
    found: dict[str, tuple[str, ...]] = {}
    for language in LANGUAGES:
        for code, name in Locale.parse(language).currencies.items():
            if code in codes and (word := key(name)):
                for form in (word, f"{word}s") if language == "en" else (word,):
                    found[form] = tuple(sorted({*found.get(form, ()), code}))
    found |= {code.casefold(): (code,) for code in codes}
    own: dict[str, str | list[str]] = word_lists()["currencies"]
    for name, meant in own.items():
        found[key(name)] = (meant,) if isinstance(meant, str) else tuple(meant)
    return found
