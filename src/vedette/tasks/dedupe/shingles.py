"""A text as the set of its shingles: all runs of n characters, or of n words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from vedette.errors import InputError

from .ragged import I64, Ragged, unique_rows

U64 = NDArray[np.uint64]
UNITS = ("chars", "words")

# Scripts written without spaces: each character counts as a word.
_ALONE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_ALONE += "\uf900-\ufaff\U00020000-\U000323af"
_WORD = re.compile(rf"\d+(?:[.,]\d+)+|[{_ALONE}]|[^\W_{_ALONE}]+")
_BASE = np.uint64(0x9E3779B97F4A7C15)


def words_of(text: str) -> list[str]:
    """Its words: runs of letters and digits, numbers with their decimals, single CJK characters.

    A text without any is a word itself, so that no text has none.
    """
    return _WORD.findall(text) or [text]


@dataclass(frozen=True, slots=True)
class Shingles:
    """Which runs a text is compared by. Raises `InputError` for a length under 1."""

    unit: Literal["chars", "words"] = "chars"
    length: int = 3

    def __post_init__(self) -> None:
        if self.length < 1:
            raise InputError(f"a shingle of {self.length} {self.unit} holds nothing")

    @classmethod
    def of(cls, spec: str) -> Self:
        """From `chars:3` or `words:2`. Raises `InputError`."""
        unit, _, length = spec.partition(":")
        if unit not in UNITS or not length.isdigit():
            raise InputError(f"{spec!r} is no kind of shingle", hint="write chars:3 or words:2")
        return cls("chars" if unit == "chars" else "words", int(length))

    def __call__(self, texts: Sequence[str]) -> Ragged:
        """The hashes of each text's shingles; a text shorter than one is a shingle itself."""
        codes, lengths = self._characters(texts) if self.unit == "chars" else self._words(texts)
        return _runs(codes, lengths, self.length)

    def _characters(self, texts: Sequence[str]) -> tuple[U64, I64]:
        padded = [text.ljust(self.length, "\0") for text in texts]
        joined = "".join(padded).encode("utf-32-le", errors="surrogatepass")
        codes = np.frombuffer(joined, dtype=np.uint32).astype(np.uint64)
        return codes, np.array([len(text) for text in padded], dtype=np.int64)

    def _words(self, texts: Sequence[str]) -> tuple[U64, I64]:
        rows = [words_of(text) for text in texts]
        rows = [row + [""] * (self.length - len(row)) for row in rows]
        hashes = {word: _hash(word) for row in rows for word in row}
        codes = np.fromiter((hashes[word] for row in rows for word in row), dtype=np.uint64)
        return codes, np.array([len(row) for row in rows], dtype=np.int64)


def _hash(word: str) -> int:
    digest = blake2b(word.encode("utf-8", errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _runs(codes: U64, lengths: I64, n: int) -> Ragged:
    """The hash of every run of n codes that does not cross from one row into the next."""
    total = len(codes) - n + 1
    hashes = np.zeros(total, dtype=np.uint64)
    for offset in range(n):
        hashes = mixed(hashes + codes[offset : offset + total])
    ends = np.cumsum(lengths)
    is_inside = np.ones(len(codes), dtype=bool)
    for offset in range(1, n):
        is_inside[ends - offset] = False
    inside = hashes[is_inside[:total]]
    return unique_rows((inside >> np.uint64(32)).astype(np.uint32), lengths - (n - 1))


def mixed(values: U64) -> U64:
    """Each value spread over all 64 bits: one step of splitmix64 (Steele et al. 2014)."""
    values = values + _BASE
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
