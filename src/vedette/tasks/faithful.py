"""What a rewritten text may not do: bring in names and numbers, or leave the question's script."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
# Words that are spelled in a way that nothing but a name is: v2.1, snake_case, camelCase, --flag.
_IDENTIFIER = re.compile(
    r"""(?<![\w-])--?[a-z][\w-]*  # an option
    | \w+(?:[._/@:\\]\w+)+        # dots, slashes and the like inside
    | \w*_\w+ | \w*[a-z][A-Z]\w* | (?=\w*[A-Za-z])(?=\w*\d)[A-Za-z0-9]+""",
    re.VERBOSE | re.ASCII,
)
_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|「([^」]+)」|『([^』]+)』|《([^》]+)》|`([^`]+)`")
_WORD = re.compile(r"[^\W\d_]+")
_SENTENCE_END = ".!?。！？:："

_SCRIPTS = ("LATIN", "CYRILLIC", "GREEK", "ARABIC", "HEBREW", "THAI", "DEVANAGARI", "HANGUL")
# A character that is a word, or a syllable of one, holds about as much as three letters.
_WEIGHTS = {"HAN": 3, "KANA": 3, "HANGUL": 2}


def script_of(text: str) -> str | None:
    """The script that most of the text is in; None without letters.

    Japanese is KANA: it is told from Chinese by its kana, however few they are.
    """
    counts = Counter(filter(None, map(_script, text)))
    weights = Counter({name: n * _WEIGHTS.get(name, 1) for name, n in counts.items()})
    if not weights:
        return None
    if counts["KANA"] and counts["HAN"]:
        weights["KANA"] += weights.pop("HAN")
    return max(sorted(weights), key=lambda name: weights[name])


def _script(character: str) -> str | None:
    if not character.isalpha():
        return None
    name = unicodedata.name(character, "")
    if name.startswith("CJK"):
        return "HAN"
    if name.startswith(("HIRAGANA", "KATAKANA")):
        return "KANA"
    return next((script for script in _SCRIPTS if name.startswith(script)), "OTHER")


@dataclass(frozen=True)
class Source:
    """What a rewritten text must stay within: the question, and the conversation before it.

    `what` is what the question is called in the faults, where it is none.
    """

    question: str
    history: str = ""
    what: str = "question"

    @cached_property
    def _text(self) -> str:
        return _folded(f"{self.history}\n{self.question}")

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(_WORD.findall(self._text))

    @cached_property
    def _numbers(self) -> frozenset[str]:
        return frozenset(_numbers(self._text))

    @property
    def has_digits(self) -> bool:
        """Whether it states any number in digits."""
        return any(character.isdigit() for character in self._text)

    def fault(self, text: str, *, names: bool = True) -> str | None:
        """What is wrong with a rewritten text, as a sentence; None where nothing is.

        Numbers must be those of the source. With `names`, so must words with a capital (but for
        the first of a sentence, and single letters), quoted words and identifiers.
        """
        if not text.strip():
            return "It is empty."
        script = script_of(self.question)
        if script is not None and script_of(text) not in (script, None):
            return f"{_shown(text)} is not in the language of the {self.what}."
        strange = self._strange_number(text) or (self._strange_name(text) if names else None)
        return f"{_shown(strange)} is not in the {self.what}." if strange else None

    def _strange_number(self, text: str) -> str | None:
        return next((n for n in _numbers(text) if n not in self._numbers), None)

    def _strange_name(self, text: str) -> str | None:
        plain = unicodedata.normalize("NFKC", text)
        quoted = [str(next(filter(None, found.groups()))) for found in _QUOTED.finditer(plain)]
        spelled = [found[0] for found in _IDENTIFIER.finditer(plain)]
        for name in (*quoted, *spelled):
            if _folded(name).strip() not in self._text:
                return name
        for found in _WORD.finditer(plain):
            word = found[0]
            before = plain[: found.start()].rstrip(" \t\n\"'“‘(「")
            opens = not before or before[-1] in _SENTENCE_END
            if len(word) == 1 or (opens and not word[1:].isupper()):
                continue
            if word != word.lower() and word.casefold() not in self._words:
                return word
        return None


def _numbers(text: str) -> list[str]:
    return [found[0] for found in _NUMBER.finditer(_folded(text))]


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _shown(text: str) -> str:
    return f'"{text if len(text) <= 40 else text[:37] + "..."}"'
