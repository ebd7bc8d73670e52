"""A spelling of the text in which rules find things: as long as the original, so offsets hold."""

from __future__ import annotations

import re
import unicodedata

INVISIBLE = "\u200b"
"""What invisible characters inside numbers become; number rules take it for a separator."""

_INVISIBLE = "\u00ad\u200c\u200d\u200e\u200f\u2060\ufeff"
_SPACES = "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u3000"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63"
_FULL_WIDTH = range(0xFF01, 0xFF5F)


def _digits_of_other_scripts() -> dict[int, str]:
    """Arabic-Indic, Devanagari and all other decimal digits -> ASCII."""
    found = {}
    for code in range(0x80, 0x1FBFA):
        char = chr(code)
        if unicodedata.category(char) == "Nd":
            found[code] = str(unicodedata.decimal(char))
    return found


_TABLE = {
    **_digits_of_other_scripts(),
    **{code: chr(code - 0xFEE0) for code in _FULL_WIDTH},
    **dict.fromkeys(map(ord, _SPACES), " "),
    **dict.fromkeys(map(ord, _DASHES), "-"),
    **dict.fromkeys(map(ord, _INVISIBLE), INVISIBLE),
}
# Two classes: one that mixes the planes is searched character by character in a list.
_FOLDABLE = re.compile(
    "[" + re.escape("".join(chr(code) for code in sorted(_TABLE) if code < 0x10000)) + "]+"
)
_BEYOND = re.compile("[\U00010000-\U0010ffff]+")


def fold(text: str) -> str:
    """Full-width and foreign digits, letters, spaces and dashes as ASCII; one for one."""
    if text.isascii():
        return text
    # Translating all of it takes several times as long as finding what is to be translated.
    for stretch in (_FOLDABLE, _BEYOND):
        text = stretch.sub(lambda found: found[0].translate(_TABLE), text)
    return text


def lower(folded: str) -> str:
    """Small letters; one for one, which `str.lower` is not for every letter."""
    return folded.replace("\u0130", "i").lower()
