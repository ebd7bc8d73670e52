"""The language that a repository's history is written in."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from vedette.errors import InputError

_WORD = re.compile(r"[^\W\d_]+")
_BY_SCRIPT = ("ja", "ko", "zh", "ru")  # kana first: Japanese has Han characters as well


@dataclass(frozen=True, slots=True)
class Language:
    """A language to write in; `script` is a class of characters that its texts have."""

    name: str
    code: str = ""
    script: str = ""
    words: frozenset[str] = frozenset()


@cache
def languages() -> dict[str, Language]:
    """The languages of `languages.toml`, by code; English is the first."""
    table = tomllib.loads(
        files("vedette.tasks.commit").joinpath("languages.toml").read_text("utf-8")
    )
    return {
        code: Language(row["name"], code, row.get("script", ""), frozenset(row.get("words", ())))
        for code, row in table.items()
    }


def language_of(given: str) -> Language:
    """A language by its code or its English name; one that is not listed is taken by its name.

    Raises `InputError` for a name that is none.
    """
    name = given.strip()
    for code, language in languages().items():
        if name.lower() in (code, language.name.lower()):
            return language
    if not _WORD.match(name) or len(name) > 40 or "\n" in name:
        raise InputError(
            f"{given!r} is no name of a language",
            hint=f"give a name in English, or one of {', '.join(languages())}",
        )
    return Language(name)


def language_of_subjects(subjects: Sequence[str]) -> Language:
    """What most of the subjects are written in; English where nothing tells."""
    codes = Counter(map(_code, subjects))
    best = max(codes, key=lambda code: codes[code], default="")
    return languages().get(best) or languages()["en"]


def _code(subject: str) -> str:
    """The language of one line; empty for one that says too little."""
    for code in _BY_SCRIPT:
        if re.search(languages()[code].script, subject):
            return code
    words = {word.lower() for word in _WORD.findall(subject)}
    hits = {code: len(words & language.words) for code, language in languages().items()}
    best = max(hits, key=lambda code: hits[code])
    return best if hits[best] else ""
