"""Who guesses, and how many tokens: by measurement, never, or as fixed for a comparison."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from vedette.errors import InputError

SourceName: TypeAlias = Literal["ngram", "draft"]

MOST_GUESSES = 31
"""With the token before them one step of 32, past which a guess costs what any token costs."""

_FIXED = re.compile(r"(ngram|draft):([1-9]\d*)")


@dataclass(frozen=True, slots=True)
class Policy:
    """`auto`: whatever is fastest by measurement; `off`; or always `n` guesses of one source."""

    kind: Literal["auto", "off", "fixed"]
    source: SourceName | None = None
    n: int = 0

    @classmethod
    def of(cls, text: str) -> Policy:
        """From `auto`, `off`, `ngram:N` or `draft:N`. Raises `InputError`."""
        if text == "auto":
            return cls("auto")
        if text == "off":
            return cls("off")
        match = _FIXED.fullmatch(text)
        if match is None or int(match[2]) > MOST_GUESSES:
            raise InputError(
                f"speculate is {text!r}",
                hint=f"it is auto, off, ngram:N or draft:N, N from 1 to {MOST_GUESSES}",
            )
        return cls("fixed", "ngram" if match[1] == "ngram" else "draft", int(match[2]))

    def __str__(self) -> str:
        return f"{self.source}:{self.n}" if self.kind == "fixed" else self.kind
