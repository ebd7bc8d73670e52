"""Candidates as a model reads them: whole, in windows, or by their opening."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .windows import opening, windows

OVERLAP_SHARE = 0.15


@dataclass(frozen=True, slots=True)
class Part:
    """A candidate's text, or a window of it that begins at `start`."""

    whole: str
    start: int
    text: str


@dataclass(frozen=True, slots=True)
class Best:
    """The part of a candidate that answers the query best, and what the model makes of it."""

    part: Part
    score: float


def parts_of(
    texts: Sequence[str], count_tokens: Callable[[str], int], limit_tokens: int, *, whole: bool
) -> list[Part]:
    """What is read of each different text: all of it, what is longer in windows that overlap.

    Without `whole` the first window stands for all.
    """
    parts = []
    for text in dict.fromkeys(texts):
        if count_tokens(text) <= limit_tokens:
            parts.append(Part(text, 0, text))
        elif not whole:
            parts.append(Part(text, 0, opening(text, count_tokens, limit_tokens=limit_tokens).text))
        else:
            overlap = int(limit_tokens * OVERLAP_SHARE)
            found = windows(text, count_tokens, limit_tokens=limit_tokens, overlap_tokens=overlap)
            parts += [Part(text, one.start, one.text) for one in found]
    return parts


def best_parts(parts: Sequence[Part], scores: Sequence[float]) -> dict[str, Best]:
    """By a candidate's text, its part with the highest score; the first of equals."""
    best: dict[str, Best] = {}
    for part, score in zip(parts, scores, strict=True):
        known = best.get(part.whole)
        if known is None or score > known.score:
            best[part.whole] = Best(part, score)
    return best
