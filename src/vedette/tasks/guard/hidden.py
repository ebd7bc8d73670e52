"""Texts that stand in a text in code: base64, hexadecimal, bits, Morse, invisible tags.

Decoded once."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .ciphers import ciphered

LEAST_CHARS = 8  # of a decoded text; shorter ones are chance
LEAST_WORDS = 4
_READABLE = 0.9  # the share of letters, digits, spaces and common marks in it

_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{12,}={0,2}")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:(?:0x|\\x|%)?[0-9A-Fa-f]{2}[ :,]?){8,}(?![0-9A-Za-z])")
_BITS = re.compile(r"(?<![0-9A-Za-z])(?:[01]{8}[ \n]{0,2}){4,}(?![0-9A-Za-z])")
_SIGNS = re.compile(
    r"(?<![.\-\w])(?:[.\-·−–]{1,6}(?:\s{1,3}|\s?[/|]\s?)){7,}[.\-·−–]{1,6}(?![.\-\w])"
)
_TAGS = re.compile("[\U000e0020-\U000e007e]{4,}")
_HAN = re.compile("[\u3040-\u30ff\u4e00-\u9fff]{6,}")
_HEX_MARKS = re.compile(r"0x|\\x|[%:,\s]")


@dataclass(frozen=True, slots=True)
class Hidden:
    """What `original[start:end]` says when it is decoded."""

    text: str
    start: int
    end: int

    @property
    def is_speech(self) -> bool:
        """Whether it is words, not a name, a number or data."""
        return len(re.findall(r"[^\W\d_]+", self.text)) >= LEAST_WORDS or bool(
            _HAN.search(self.text)
        )


def hidden_texts(text: str) -> list[Hidden]:
    """All decodable stretches that come to readable text, in order. What they hold is not searched
    again."""
    found: list[Hidden] = []
    for pattern, decode in _CODES:
        for start, end, code in _matches(pattern, text):
            said = decode(code)
            if said is not None and _is_readable(said):
                found.append(Hidden(said, start, end))
    found += [Hidden(said, start, end) for start, end, said in ciphered(text)]
    return sorted(found, key=lambda one: (one.start, one.end))


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int, str]]:
    for match in pattern.finditer(text):
        yield match.start(), match.end(), match.group()


def _of_base64(code: str) -> str | None:
    plain = code.rstrip("=").replace("-", "+").replace("_", "/")
    if len(plain) % 4 == 1:
        return None
    return _utf8(base64.b64decode(plain + "=" * (-len(plain) % 4)))


def _of_hex(code: str) -> str | None:
    try:
        return _utf8(binascii.unhexlify(_HEX_MARKS.sub("", code)))
    except binascii.Error:
        return None


def _of_bits(code: str) -> str | None:
    return _utf8(bytes(int(eight, 2) for eight in re.findall("[01]{8}", code)))


def _of_morse(code: str) -> str | None:
    plain = code.translate(_MORSE_MARKS)
    signs = re.split(r"\s?[/|]\s?|\s{2,}", plain)  # between words
    words = [[_MORSE_LETTERS.get(sign) for sign in word.split()] for word in signs]
    if any(letter is None for word in words for letter in word):
        return None
    return " ".join("".join(filter(None, word)) for word in words)


def _of_tags(code: str) -> str | None:
    return "".join(chr(ord(char) - 0xE0000) for char in code)


def _utf8(data: bytes) -> str | None:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _is_readable(text: str) -> bool:
    if len(text.strip()) < LEAST_CHARS or not re.search(r"\w", text):
        return False
    plain = sum(char.isalnum() or char in " \n.,:;!?'\"()/-_@" for char in text)
    return plain >= _READABLE * len(text)


_MORSE_MARKS = str.maketrans("·−–", ".--")
# International Morse code (ITU-R M.1677-1), with the punctuation that sentences need.
_MORSE = """
a.- b-... c-.-. d-.. e. f..-. g--. h.... i.. j.--- k-.- l.-.. m-- n-. o--- p.--. q--.- r.-. s... t-
u..- v...- w.-- x-..- y-.-- z--.. 0----- 1.---- 2..--- 3...-- 4....- 5..... 6-.... 7--... 8---..
9----. ..-.-.- ,--..-- ?..--.. '.----. /-..-. --....- :---... ;-.-.-. (-.--. )-.--.- !-.-.--
"""
_MORSE_LETTERS = {entry[1:]: entry[0] for entry in _MORSE.split()}

_CODES: tuple[tuple[re.Pattern[str], Callable[[str], str | None]], ...] = (
    (_BASE64, _of_base64),
    (_HEX, _of_hex),
    (_BITS, _of_bits),
    (_SIGNS, _of_morse),
    (_TAGS, _of_tags),
)
