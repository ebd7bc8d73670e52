"""What the rules of a policy find in a text, and how much of it comes together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .hidden import Hidden, hidden_texts
from .normalise import Normalised, normalise
from .policy import Policy

REACH_CHARS = 1200  # rules that match further apart are not added up
HIDDEN_RULE = "hidden-text"

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Hit:
    """A rule's match, at `[start, end)` of the original text."""

    rule: str
    weight: float
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as rules read it: folded, and the texts in code that it has, folded too."""

    text: str
    folded: Normalised
    hidden: tuple[tuple[Hidden, Normalised], ...]


def read(text: str) -> Reading:
    """Done once for all policies."""
    hidden = tuple((one, normalise(one.text)) for one in hidden_texts(text))
    return Reading(text, normalise(text), hidden)


def allowed_spans(reading: Reading, patterns: Iterable[str]) -> list[Span]:
    """Where the text is allowed, in the original; merged and in order."""
    spans = sorted(
        reading.folded.span(*match.span())
        for pattern in patterns
        for match in re.finditer(pattern, reading.folded.text, re.IGNORECASE)
        if match.group()
    )
    merged: list[Span] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def hits_of(policy: Policy, reading: Reading, allowed: Sequence[Span]) -> list[Hit]:
    """All matches of the policy's rules that are not wholly inside what is allowed, in order."""
    hits = [
        Hit(rule.name, rule.weight, *span)
        for rule in policy.rules
        for span in rule.matches(reading.text, reading.folded)
    ]
    for hidden, folded in reading.hidden:
        named = [
            (rule.name, rule.weight) for rule in policy.rules if rule.matches(hidden.text, folded)
        ]
        if policy.hidden_weight and (named or hidden.is_speech):
            named.append((HIDDEN_RULE, policy.hidden_weight))
        hits += [Hit(name, weight, hidden.start, hidden.end) for name, weight in named]
    kept = [hit for hit in hits if not is_within(hit.start, hit.end, allowed)]
    return sorted(kept, key=lambda hit: (hit.start, hit.end, hit.rule))


def is_within(start: int, end: int, spans: Iterable[Span]) -> bool:
    """Whether one of the spans holds all of `[start, end)`."""
    return any(first <= start and end <= last for first, last in spans)


def worth(hits: Iterable[Hit]) -> float:
    """The sum of the weights, each rule counted once."""
    return sum({hit.rule: hit.weight for hit in hits}.values(), 0.0)


def heaviest(hits: Sequence[Hit]) -> Hit:
    """The one that says most; the first of equals."""
    return max(hits, key=lambda hit: hit.weight)


def between(hits: Iterable[Hit], start: int, end: int) -> list[Hit]:
    """Those that touch `[start, end)`."""
    return [hit for hit in hits if hit.start < end and hit.end > start]


def densest(hits: Sequence[Hit]) -> list[Hit]:
    """Of hits in order, those that begin within `REACH_CHARS` and are worth most together."""
    counts: Counter[str] = Counter()
    weights = {hit.rule: hit.weight for hit in hits}
    total = best = 0.0
    chosen, last = (0, 0), 0
    for first, hit in enumerate(hits):
        while last < len(hits) and hits[last].start < hit.start + REACH_CHARS:
            counts[hits[last].rule] += 1
            total += weights[hits[last].rule] if counts[hits[last].rule] == 1 else 0.0
            last += 1
        if total > best + 1e-9:
            best, chosen = total, (first, last)
        counts[hit.rule] -= 1
        total -= weights[hit.rule] if counts[hit.rule] == 0 else 0.0
    return list(hits[chosen[0] : chosen[1]])
