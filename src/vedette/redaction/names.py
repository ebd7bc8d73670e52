"""Where names that somebody found stand in a text: everywhere they do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from .span import Span

SCORE = 0.5  # below every rule's
LEAST_CHARS = 2


def name_spans(text: str, names: Mapping[str, Iterable[str]], *, rule: str) -> Iterator[Span]:
    """All places of the names, given by kind; whole words only where words are written apart."""
    for kind, values in names.items():
        for value in dict.fromkeys(values):
            if sum(map(str.isalnum, value)) < LEAST_CHARS:
                continue
            canonical = " ".join(value.split()).casefold()
            for found in _whole(value).finditer(text):
                yield Span(*found.span(), kind, rule, SCORE, canonical)


def _whole(value: str) -> re.Pattern[str]:
    before = r"(?<!\w)" if _ends_a_word(value[0]) else ""
    after = r"(?!\w)" if _ends_a_word(value[-1]) else ""
    return re.compile(f"{before}{re.escape(value)}{after}")


def _ends_a_word(char: str) -> bool:
    """Whether words with this letter have spaces or signs around them: not in Chinese."""
    return char.isalnum() and ord(char) < 0x0E00
