"""What became of each keyword of a schema."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Verdict = Literal["enforced", "narrowed", "checked", "refused"]
# From good to bad: where a keyword is used in several places, the worst is what is reported.
_ORDER: tuple[Verdict, ...] = ("enforced", "narrowed", "checked", "refused")


def worse(one: Verdict, other: Verdict) -> bool:
    """Whether the first verdict promises less than the second."""
    return _ORDER.index(one) > _ORDER.index(other)


@dataclass(frozen=True, slots=True)
class KeywordReport:
    """One keyword at one place.

    `enforced`: no text that violates it can be written. `narrowed`: the same, and some valid
    values cannot be written either. `checked`: the grammar lets more through; the finished
    answer is validated. `refused`: the schema cannot be used, for this reason. `pointer` is the
    place of the schema that holds the keyword; for a schema from a file, its URI stands in front.
    """

    pointer: str
    keyword: str
    verdict: Verdict
    reason: str = ""

    def as_dict(self) -> dict[str, str]:
        """All four fields, for JSON."""
        return {
            "pointer": self.pointer,
            "keyword": self.keyword,
            "verdict": self.verdict,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class UnknownKeyword:
    """A keyword without effect: not one of the draft's, or idle where it stands."""

    pointer: str
    keyword: str
    reason: str

    def as_dict(self) -> dict[str, str]:
        """All three fields, for JSON."""
        return {"pointer": self.pointer, "keyword": self.keyword, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class SchemaReport:
    """Every keyword of a schema that can make a value invalid, and those without effect.

    `bounds` says where answers are kept shorter than the schema asks, so that they end.
    """

    draft: str
    keywords: tuple[KeywordReport, ...]
    unknown: tuple[UnknownKeyword, ...] = ()
    bounds: tuple[str, ...] = ()

    def of(self, verdict: Verdict) -> tuple[KeywordReport, ...]:
        """The keywords with this verdict."""
        return tuple(entry for entry in self.keywords if entry.verdict == verdict)

    @property
    def exact(self) -> bool:
        """The grammar alone decides: nothing needs to be checked afterwards."""
        return all(entry.verdict in ("enforced", "narrowed") for entry in self.keywords)

    @property
    def strict(self) -> SchemaReport:
        """The report under `strict`: what could only be checked is refused."""
        entries = (
            replace(entry, verdict="refused") if entry.verdict == "checked" else entry
            for entry in self.keywords
        )
        return replace(self, keywords=tuple(entries))

    def as_dict(self) -> dict[str, object]:
        """The report for JSON, with the number of keywords per verdict."""
        return {
            "draft": self.draft,
            "counts": {verdict: len(self.of(verdict)) for verdict in _ORDER},
            "keywords": [entry.as_dict() for entry in self.keywords],
            "unknown": [entry.as_dict() for entry in self.unknown],
            "bounds": [*self.bounds],
        }
