"""Texts made equal where their difference says nothing."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Self

from vedette.errors import InputError

STEPS = ("nfkc", "case", "space", "punctuation")
_MARKS = re.compile(r"[^\w\s]|_")


@dataclass(frozen=True, slots=True)
class Normalise:
    """Which differences do not count.

    `nfkc`: compatibility forms, such as full-width letters and ligatures (Unicode NFKC). `case`:
    letter case (full case folding). `space`: kind and amount of white space, and any at the ends.
    `punctuation`: marks and symbols.
    """

    nfkc: bool = True
    case: bool = True
    space: bool = True
    punctuation: bool = False

    @classmethod
    def of(cls, spec: str) -> Self:
        """From a list such as `nfkc,case`, or `none`. Raises `InputError` for another word."""
        words = [word.strip() for word in spec.split(",")]
        if words == ["none"]:
            words = []
        wrong = next((word for word in words if word not in STEPS), None)
        if wrong is not None:
            raise InputError(
                f"{wrong!r} is no kind of normalisation",
                hint=f"give some of {', '.join(STEPS)}, separated by commas, or none",
            )
        return cls(**{step: step in words for step in STEPS})

    def __call__(self, text: str) -> str:
        """The text without these differences."""
        if self.nfkc:
            text = unicodedata.normalize("NFKC", text)
        if self.case:
            text = text.casefold()
            if self.nfkc and not text.isascii():  # case folding can undo the composition
                text = unicodedata.normalize("NFKC", text)
        if self.punctuation:
            text = _MARKS.sub(" ", text)
        if self.space:
            text = " ".join(text.split())
        return text
