"""The words of a sentence as they are compared: folded, plain stems, without the commonest ones."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from functools import lru_cache
from importlib.resources import files

# Scripts without spaces between words: pairs of characters stand for words.
_UNSPACED = "\u0e00-\u0eff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_RUNS = re.compile(rf"(?P<unspaced>[{_UNSPACED}]+)|[^\W_{_UNSPACED}]+(?:['’][a-z]+)?")

_LISTS: dict[str, str] = tomllib.loads(
    files("vedette.tasks.compress").joinpath("word_lists.toml").read_text("utf-8")
)


def word_list(name: str) -> tuple[str, ...]:
    """One list of `word_lists.toml`."""
    return tuple(_LISTS[name].split())


_COMMON = frozenset(word_list("common"))
_COMMON_PAIRS = frozenset(word_list("common_pairs"))
_NEGATIONS = frozenset(word_list("negations"))
_NEGATIONS_UNSPACED = "".join(word_list("negations_unspaced"))


def words(text: str) -> list[str]:
    """The words that say something; of Chinese and the like, pairs of characters."""
    found: list[str] = []
    for run in _RUNS.finditer(unicodedata.normalize("NFKC", text).casefold()):
        word = run[0]
        if run["unspaced"]:
            pairs = [word[i : i + 2] for i in range(len(word) - 1)] or [word]
            found += (pair for pair in pairs if pair not in _COMMON_PAIRS)
        elif (
            not word.endswith(("n't", "n’t"))
            and (word := word.replace("’", "'").partition("'")[0]) not in _COMMON
        ):
            found.append(stem(word))
    return found


def negations(text: str) -> frozenset[str]:
    """What turns its sentence into the opposite: all that `words` leaves out for being common."""
    found: set[str] = set()
    for run in _RUNS.finditer(unicodedata.normalize("NFKC", text).casefold()):
        word = run[0]
        if run["unspaced"]:
            found.update(letter for letter in word if letter in _NEGATIONS_UNSPACED)
        elif word.endswith(("n't", "n’t")):
            found.add("not")
        elif word in _NEGATIONS:
            found.add("not" if word == "cannot" else word)
    return frozenset(found)


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A word without the endings that English puts on it: crude, quick, the same for both sides."""
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    for ending, instead in (
        ("ational", "ate"),
        ("ization", "ize"),
        ("fulness", "ful"),
        ("iveness", "ive"),
        ("ments", ""),
        ("ment", ""),
        ("nesses", ""),
        ("ness", ""),
        ("ations", "ate"),
        ("ation", "ate"),
        ("ities", ""),
        ("ity", ""),
        ("sses", "ss"),
        ("ies", "y"),
        ("ings", ""),
        ("ing", ""),
        ("edly", ""),
        ("ied", "y"),
        ("ed", ""),
        ("ers", ""),
        ("er", ""),
        ("ors", ""),
        ("ions", ""),
        ("ion", ""),
        ("ly", ""),
        ("es", ""),
        ("s", ""),
    ):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            root = word[: len(word) - len(ending)] + instead
            if len(root) > 3 and root[-1] == root[-2] and root[-1] not in "lsz":
                root = root[:-1]
            return root[:-1] if root.endswith("e") and len(root) > 3 else root
    return word[:-1] if word.endswith("e") and len(word) > 4 else word
