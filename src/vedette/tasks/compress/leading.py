"""The leading units of a text of any length, scored part by part, then merged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from .relevance import CentralScorer, QueryScorer, Statistics, rough_tokens
from .selection import Candidate
from .split import units
from .words import words

UNITS_PER_PART = 20_000
SPARE = 4  # so many times the budget is carried on, for duplicates and for the model's opinion


@dataclass(frozen=True, slots=True)
class Leading:
    """The best candidates, of how many units, and whether any word of the query was found."""

    candidates: tuple[Candidate, ...]
    n_units: int
    query_found: bool


def leading(text: str, query: str, budget: int) -> Leading:
    """Score all units and keep the best, about `SPARE` times the budget of them.

    Two passes: what is counted over the whole text (of the query's words, or of all words without
    one), then the scores. Each part of `UNITS_PER_PART` leaves only its best, and merging keeps
    the best of these, so memory grows with the budget and the vocabulary and not with the text.
    """
    asked = frozenset(words(query))
    scorer: QueryScorer | CentralScorer
    scorer = QueryScorer(query, Statistics.of(_bags(text), asked)) if asked else _central(text)
    found = not (isinstance(scorer, QueryScorer) and scorer.finds_nothing)
    if not found:
        scorer = _central(text)
    best: list[Candidate] = []
    n_units = 0
    stream = units(text)
    while part := list(islice(stream, UNITS_PER_PART)):
        labels = [text[unit.label[0] : unit.label[1]] for unit in part]
        scores = scorer.scores(text, part, labels)
        best += [
            Candidate(n_units + i, unit, float(score))
            for i, (unit, score) in enumerate(zip(part, scores, strict=True))
        ]
        best = _best(text, best, SPARE * budget)
        n_units += len(part)
    return Leading(tuple(best), n_units, bool(asked) and found)


def _central(text: str) -> CentralScorer:
    return CentralScorer(Statistics.of(_bags(text)))


def _bags(text: str) -> Iterator[list[str]]:
    return (words(text[unit.start : unit.end]) for unit in units(text))


def _best(text: str, candidates: Sequence[Candidate], tokens: int) -> list[Candidate]:
    """The best, up to that many tokens by a rough count."""
    ranked = sorted(candidates, key=lambda one: (-one.score, one.number))
    kept: list[Candidate] = []
    taken = 0.0
    for one in ranked:
        if taken >= tokens and kept:
            break
        kept.append(one)
        taken += rough_tokens(text, one.unit)
    return kept
