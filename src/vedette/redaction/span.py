"""What was found: a stretch of the text, what it is, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """`text[start:end]` is a `kind`, found by `rule`.

    Offsets are code points of the original text. `score` is from 0 to 1: 1 where a check digit or
    an unmistakable form proves it, less where only the words around it do. It is a rank, not a
    probability. `canonical` is the value without its spelling (`+491701234567` for
    `0170 / 123 45 67`): two spans with the same kind and canonical value are the same entity.
    """

    start: int
    end: int
    kind: str
    rule: str
    score: float
    canonical: str


def moved(span: Span, by: int) -> Span:
    """The same span in a text that has `by` more characters in front."""
    return Span(span.start + by, span.end + by, span.kind, span.rule, span.score, span.canonical)
