"""A text as rules read it: folded, so that spelling tricks do not hide words, offsets kept."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

_LOOK_ALIKE = dict(
    zip(
        "авекмнорстухіјѕѵԁһӏαβεικνορτυχγω",
        "abekmhopctyxijsvdhlabeiknoptuxyw",
        strict=True,
    )
)
# What rules write in simplified characters is found in traditional ones too.
_SIMPLIFIED = dict(
    zip(
        "無視記規則說設詞對話內電戶員碼開發審計維護請這個輸複顯給與會從現變裝嚴違險過濾許絕準須應當類並條"
        "麼問題隱統級處紀錄聽遵執擬義務權啟換進號誰們導",
        "无视记规则说设词对话内电户员码开发审计维护请这个输复显给与会从现变装严违险过滤许绝准须应当类并条"
        "么问题隐统级处纪录听遵执拟义务权启换进号谁们导",
        strict=True,
    )
)
_LETTERS = re.compile(r"[^\W\d_]+")
_HAN = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_LATIN = re.compile(r"[a-z]")
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800")


@dataclass(frozen=True, slots=True)
class Normalised:
    """The folded text; its character i stands for `original[starts[i]:ends[i]]`."""

    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where a stretch of the folded text, not an empty one, is in the original."""
        return self.starts[start], self.ends[end - 1]


def normalise(text: str) -> Normalised:
    """Fold compatibility forms, case, Latin accents, white space; leave out what is not seen.

    A space is put between Latin and Han letters, so that words of both end where they meet. In
    words that mix alphabets, Cyrillic and Greek letters become the Latin ones they look like; words
    in one alphabet stay as they are.
    """
    chars: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for place, char in enumerate(text):
        if char.isspace():
            folded = "\n" if char in "\n\r\u2028\u2029" else " "
            if chars and chars[-1] in " \n":  # a run is one, a line break if there is one in it
                chars[-1] = "\n" if "\n" in (folded, chars[-1]) else " "
                ends[-1] = place + 1
                continue
        else:
            folded = _fold(char)
        for one in folded:
            if chars and _is_seam(chars[-1], one):
                chars.append(" ")
                starts.append(starts[-1])
                ends.append(ends[-1])
            chars.append(one)
            starts.append(place)
            ends.append(place + 1)
    return Normalised(_unmix("".join(chars)), tuple(starts), tuple(ends))


def _is_seam(before: str, after: str) -> bool:
    if before.isascii():
        return before.isalpha() and _HAN.match(after) is not None
    return after.isascii() and after.isalpha() and _HAN.match(before) is not None


def folded_pattern(pattern: str) -> str:
    """A regular expression with its accented letters as the folded text has them."""
    return "".join(
        folded if not char.isascii() and len(folded := _fold(char)) == 1 else char
        for char in pattern
    )


@lru_cache(maxsize=4096)
def _fold(char: str) -> str:
    """One character, not a space, as rules read it; nothing for one that is not seen."""
    kind = unicodedata.category(char)
    if kind in ("Cf", "Cc", "Cs") or char in _INVISIBLE or "\ufe00" <= char <= "\ufe0f":
        return ""
    if "\U000e0100" <= char <= "\U000e01ef" or "\u0300" <= char <= "\u036f":
        return ""
    if "\U0001f1e6" <= char <= "\U0001f1ff":  # letters of flags
        return chr(ord("a") + ord(char) - 0x1F1E6)
    if char in _SIMPLIFIED:
        return _SIMPLIFIED[char]
    folded = unicodedata.normalize("NFKC", char).casefold()
    bare = unicodedata.normalize("NFKD", folded)
    if bare and (bare[0] < "\u0250" or "\u0370" <= bare[0] < "\u0400"):
        folded = "".join(c for c in bare if not "\u0300" <= c <= "\u036f")
    return "".join(folded.split())  # some signs are written with spaces: ´ is one


def _unmix(text: str) -> str:
    def word(found: re.Match[str]) -> str:
        letters = found.group()
        if letters.isascii() or not _LATIN.search(letters):
            return letters
        return "".join(_LOOK_ALIKE.get(letter, letter) for letter in letters)

    return _LETTERS.sub(word, text)
