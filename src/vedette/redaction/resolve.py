"""Which of several overlapping spans counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .span import Span


def resolve(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, none overlapping; nothing that any of them covers is left uncovered.

    Where spans overlap, the longest says what it is, the more certain of two equally long ones.
    What others stick out by is covered too: half a number must not stay behind.
    """
    found: list[Span] = []
    group: list[Span] = []
    end = -1
    for span in sorted(spans, key=lambda span: (span.start, span.end)):
        if group and span.start >= end:
            found.append(_joined(group))
            group = []
        group.append(span)
        end = span.end if len(group) == 1 else max(end, span.end)
    return [*found, _joined(group)] if group else found


def fill(text: str, sure: list[Span], others: Iterable[Span]) -> list[Span]:
    """`sure`, and of the `others` what those leave: a name around a number keeps its both sides.

    `sure` is in order and does not overlap, as the result.
    """
    found = [*sure]
    for span in resolve(others):
        at = span.start
        for taken in (*(s for s in sure if s.end > span.start and s.start < span.end), None):
            end = taken.start if taken else span.end
            if end > at and any(map(str.isalnum, text[at:end])):
                whole = (at, end) == (span.start, span.end)
                found.append(replace(span, start=at, end=end, canonical=span.canonical * whole))
            at = taken.end if taken else end
    return sorted(found, key=lambda span: span.start)


def _joined(group: list[Span]) -> Span:
    best = max(group, key=lambda span: (span.end - span.start, span.score))
    start, end = group[0].start, max(span.end for span in group)
    if (start, end) == (best.start, best.end):
        return best
    return Span(start, end, best.kind, best.rule, best.score, "")
