"""Whether a sentence that a model wrote about a text stays within it: numbers, names, negation."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any

from .compress.words import negations, stem
from .faithful import Source, script_of

_DATA: dict[str, Any] = tomllib.loads(
    files("vedette.tasks").joinpath("grounding.toml").read_text("utf-8")
)
_NUMBER_WORDS: dict[str, str] = _DATA["number_words"]
_KNOWN = frozenset(_DATA["openers"]["words"].split()) | _NUMBER_WORDS.keys()
_ENDINGS = tuple(_DATA["openers"]["endings"])

SHORT_CHARS = 3
LEAST_SHORT = 5
KNOWN_SHARE = 0.35

_SPELLED = re.compile(r"\b(?:[A-Za-z][._]){2,}(?:[A-Za-z]\b)?")
_WORD = re.compile(r"[^\W\d_]+")
# Han numerals, but for a lone 一, which is in half of all words.
_HAN_NUMBER = re.compile(r"[〇零一二两三四五六七八九十百千万亿]+")


@dataclass(frozen=True)
class Grounding:
    """The text that sentences are held against."""

    text: str

    @cached_property
    def _source(self) -> Source:
        return Source(self.text, history=self._other_spellings, what="text")

    @cached_property
    def _other_spellings(self) -> str:
        """Numbers in words as digits, and letters that are spelled out (L.C.D.) as one word."""
        found = [re.sub(r"[._]", "", one) for one in _SPELLED.findall(self.text)]
        number_words = [*map(str, _WORD.findall(self.text.casefold()))]
        for word, following in zip(number_words, [*number_words[1:], ""], strict=True):
            value = int(_NUMBER_WORDS.get(word, "0"))
            ones = int(_NUMBER_WORDS.get(following, "1" if following == "one" else "0"))
            if value:
                found.append(str(value))
            if 20 <= value <= 90 and 1 <= ones <= 9:
                found.append(str(value + ones))
        return " ".join(found)

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(_WORD.findall(f"{self.text} {self._other_spellings}".casefold()))

    @cached_property
    def _stems(self) -> frozenset[str]:
        return frozenset(map(stem, self._words))

    @cached_property
    def _numbers(self) -> frozenset[str]:
        known = f"{self.text} {self._other_spellings}"
        plain = unicodedata.normalize("NFKC", known).replace(",", "")
        return frozenset(re.findall(r"\d+", plain))

    @cached_property
    def _negates(self) -> bool:
        return bool(negations(self.text))

    @property
    def script(self) -> str | None:
        """What the text is written in; see `script_of`."""
        return script_of(self.text)

    def fault(self, sentence: str) -> str | None:
        """Why the sentence cannot be passed on, as a sentence; None where nothing speaks against.

        Numbers in digits and in words, words with a capital, quoted words and identifiers must be
        the text's, and so must script and language; a negation needs one somewhere in the text.
        That what is said of them is right, no rule can tell.
        """
        found = self._source.fault(sentence)
        if found is not None:
            return found
        if self._is_foreign(sentence):
            return "It is not in the language of the text."
        strange = self._strange_number_word(sentence) or self._strange_opener(sentence)
        if strange is not None:
            return f'"{strange}" is not in the text.'
        if not self._negates and negations(sentence):
            return "It negates, and the text nowhere does."
        return None

    def _is_foreign(self, sentence: str) -> bool:
        """Whether most of its short words are none of the text's: articles, prepositions and such.

        Two languages of one script share few of these; two texts of one language, most.
        """
        short = [w for w in _WORD.findall(sentence.casefold()) if len(w) <= SHORT_CHARS]
        n_known = sum(word in self._words for word in short)
        return len(short) >= LEAST_SHORT and n_known < KNOWN_SHARE * len(short)

    def _strange_number_word(self, sentence: str) -> str | None:
        for word in map(str, _WORD.findall(sentence.casefold())):
            digits = _NUMBER_WORDS.get(word)
            if digits and word not in self._words and digits not in self._numbers:
                return word
        for found in map(str, _HAN_NUMBER.findall(sentence)):
            if found != "一" and found not in self.text and _value(found) not in self._numbers:
                return found
        return None

    def _strange_opener(self, sentence: str) -> str | None:
        """A name at the beginning, where every word has a capital: one that the text never has."""
        first = _WORD.search(sentence)
        if first is None or sentence[: first.start()].strip("\"'“‘(「- "):
            return None
        word = first[0]
        lower = word.casefold()
        if word == lower or len(word) == 1 or lower in self._words or lower in _KNOWN:
            return None
        if stem(lower) in self._stems or lower.endswith(_ENDINGS):
            return None
        return word if script_of(word) in ("LATIN", "CYRILLIC", "GREEK") else None


def _value(numeral: str) -> str:
    """A plain Han numeral below a hundred in digits; '' for what is no such numeral."""
    digits = {"零": 0, "〇": 0, "两": 2, **{c: i for i, c in enumerate("一二三四五六七八九", 1)}}
    tens, ten, ones = numeral.partition("十")
    if any(len(part) > 1 or (part and part not in digits) for part in (tens, ones)):
        return ""
    if not ten:
        return str(digits[tens])
    return str(10 * digits.get(tens, 1) + digits.get(ones, 0))
