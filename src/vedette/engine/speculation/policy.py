"""Who guesses, and how many tokens: by measurement, never, or as fixed for a comparison."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from vedette.errors import InputError

PolicyKind: TypeAlias = Literal["auto", "off", "fixed"]

MOST_GUESSES = 31
"""With the token before them one step of 32, past which a guess costs what any token costs."""

_FIXED = re.compile(r"(ngram|draft|drawn):([1-9]\d*)")


@dataclass(frozen=True, slots=True)
class Policy:
    """`auto`: whatever is fastest by measurement; `off`; or always `n` guesses of one source.

    `is_drawn`: the draft draws its guesses where the answer is drawn, and they are accepted by
    rejection sampling. More of them are right then; but which text a seed gives depends on how
    many were made, and so `auto`, which goes by time, never draws.
    """

    kind: PolicyKind
    source: str = ""
    n: int = 0
    is_drawn: bool = False

    @classmethod
    def of(cls, text: str) -> Policy:
        """From `auto`, `off`, `ngram:N`, `draft:N` or `drawn:N`. Raises `InputError`."""
        if text == "auto":
            return cls("auto")
        if text == "off":
            return cls("off")
        match = _FIXED.fullmatch(text)
        if match is None or int(match[2]) > MOST_GUESSES:
            raise InputError(
                f"speculate is {text!r}",
                hint=f"it is auto, off, ngram:N, draft:N or drawn:N, N from 1 to {MOST_GUESSES}",
            )
        is_drawn = match[1] == "drawn"
        return cls("fixed", "draft" if is_drawn else match[1], int(match[2]), is_drawn)

    def __str__(self) -> str:
        if self.kind != "fixed":
            return self.kind
        return f"{'drawn' if self.is_drawn else self.source}:{self.n}"
