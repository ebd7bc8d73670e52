"""The ways in which a question is rewritten, and what is kept of a reply."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .faithful import Source

QUERY_TOKENS = 64
PASSAGE_TOKENS = 150

_FORM_TOKENS = 12  # the JSON around the texts
_ENTRY_TOKENS = 4  # and around each of them


@dataclass(frozen=True, slots=True)
class Mode:
    """One way of rewriting: the key of its texts in the answer, and what bounds each of them.

    `is_exact` asks for as many texts as are wanted, no fewer; `differs` says that they must not
    be the question itself.
    """

    name: str
    key: str
    most_tokens: int = QUERY_TOKENS
    most_chars: int = 240
    is_list: bool = True
    is_exact: bool = True
    differs: bool = False
    checks_names: bool = True

    def schema(self, n: int, *, digits: bool) -> dict[str, Any]:
        """The form of a reply with `n` texts; without `digits` none can be written."""
        text: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": self.most_chars}
        if not digits:
            text["pattern"] = "^[^0-9]*$"
        if self.is_list:
            least = n if self.is_exact else 1
            text = {"type": "array", "minItems": least, "maxItems": n, "items": text}
        return {"type": "object", "properties": {self.key: text}, "required": [self.key]}

    def answer_tokens(self, n: int) -> int:
        """Most tokens of a reply with `n` texts."""
        return _FORM_TOKENS + n * (self.most_tokens + _ENTRY_TOKENS)


MODES = {
    mode.name: mode
    for mode in (
        Mode("query", "query", is_list=False),
        Mode("variants", "variants", differs=True),
        Mode("decompose", "questions", is_exact=False),
        Mode("hyde", "passages", most_tokens=PASSAGE_TOKENS, most_chars=900, checks_names=False),
    )
}


@dataclass(slots=True)
class Kept:
    """The texts of one mode that can be used, and those that cannot, each with its fault."""

    mode: Mode
    most: int
    source: Source
    count_tokens: Callable[[str], int]
    texts: list[str] = field(default_factory=list)
    faults: list[tuple[str, str]] = field(default_factory=list)

    def take(self, texts: Sequence[str], *, is_cut: bool) -> None:
        """Judge the texts of a reply; earlier faults are forgotten. The last one may be cut."""
        self.faults = []
        for i, text in enumerate(text.strip() for text in texts):
            if len(self.texts) == self.most:
                return
            if (fault := self._fault(text, is_cut=is_cut and i == len(texts) - 1)) is None:
                self.texts.append(text)
            else:
                self.faults.append((text, fault))

    @property
    def is_short(self) -> bool:
        """Whether something was left out that another reply could bring."""
        return bool(self.faults) and len(self.texts) < self.most

    def _fault(self, text: str, *, is_cut: bool) -> str | None:
        fault = self.source.fault(text, names=self.mode.checks_names)
        if fault is not None:
            return fault
        if self.mode.checks_names and (is_cut or self.count_tokens(text) > self.mode.most_tokens):
            return f"It is longer than {self.mode.most_tokens} tokens."
        if self.mode.differs and _bare(text) == _bare(self.source.question):
            return "It is the question itself."
        if _bare(text) in map(_bare, self.texts):
            return "It is there twice."
        return None


def _bare(text: str) -> str:
    """A text without what makes no difference to a search: capitals, spaces, punctuation."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text).casefold())
