"""Candidates in the order of how well they answer a query: BM25, then the model's own odds."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import cast

from vedette.backends.base import Backend, Result
from vedette.decide.question import YES_NO
from vedette.errors import CapabilityMissing, InputError, InputTooLong
from vedette.types import Answer, Item, Json, Message, Prompt, ScoreRequest, Usage

from .base import Ask, Steps
from .bm25 import bm25
from .budget import check_at_least_1
from .documents import Document, parse_documents
from .prompt_data import fill, load_prompt, text_of, with_instructions
from .ranking import (
    BM25_WEIGHT,
    MOST_SHIFT,
    READ,
    SCORING,
    SCORINGS,
    WINDOW_TOKENS,
    by_score,
    sigmoid,
    standardised,
    whole_ranking,
)
from .reply import scores_of
from .setwise import SET_SIZE, mean_shifts, open_groups, turned
from .windows import LEAST_WINDOW_TOKENS, windows

OVERLAP_SHARE = 0.15
MOST_PLACES = 8  # places from the top that comparisons are about, however many are asked for

_OVERHEAD_TOKENS = 64  # the chat template, and the ends of lines


@dataclass(frozen=True)
class Rerank:
    """Implements `Task`: the item's text is the query, its column `documents` the candidates.

    The `read` best candidates by BM25 are read by the model, one at a time. With `scoring` yes-no
    it is asked whether the passage helps to answer the query, and the score is the log-odds of yes;
    with likelihood it is how likely the query is as a question about the passage (Sachan et al.
    2022, arXiv 2204.07496). The mean over the candidates (what the model says of any text) is taken
    off, and `bm25_weight` times BM25 added, both in standard deviations.
    With `refine`, neighbours at the top that lie close are compared directly, a few at a time,
    each once in each place. A candidate longer than `window_tokens` is read in windows; its best
    one counts.

    The value has `results`, the best `top`, and `stages`, what was done. The order is a
    permutation of the candidates whatever the model says; ties go to the earlier candidate.
    Raises `InputError` for parameters that are none.
    """

    top: int = 5
    read: int = READ
    scoring: str = SCORING
    bm25_weight: float = BM25_WEIGHT
    refine: bool = True
    window_tokens: int = WINDOW_TOKENS
    return_documents: bool = False
    instructions: str = ""
    documents_column: str = "documents"
    name: str = field(default="rerank", init=False)

    def __post_init__(self) -> None:
        check_at_least_1("top", self.top)
        check_at_least_1("read", self.read)
        if self.scoring not in SCORINGS:
            raise InputError(f"scoring must be one of {', '.join(SCORINGS)}, not {self.scoring!r}")
        if self.window_tokens < LEAST_WINDOW_TOKENS:
            raise InputError(
                f"window_tokens is {self.window_tokens}; it must be at least {LEAST_WINDOW_TOKENS}"
            )
        if not 0 <= self.bm25_weight < math.inf:
            raise InputError(f"bm25_weight is {self.bm25_weight}; it must be 0 or more")

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        return {
            "prompt": cast(Json, load_prompt("rerank")),
            "instructions": self.instructions,
            "parameters": {
                "top": self.top,
                "read": self.read,
                "scoring": self.scoring,
                "bm25_weight": self.bm25_weight,
                "most_shift": MOST_SHIFT if self.refine else 0.0,
                "window_tokens": self.window_tokens,
                "return_documents": self.return_documents,
            },
        }

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        if not backend.capabilities.can_score:
            raise CapabilityMissing("rerank needs a backend that can score choices")
        documents = self._documents(item)
        if not documents:
            return Answer(value={"results": [], "stages": {"candidates": 0}})
        query, texts = item.text.strip(), [document.text for document in documents]
        if not query:
            raise InputError("the query is empty", hint="without one there is no order")
        words = bm25(query, texts)
        read = [i for i in by_score(range(len(texts)), words) if texts[i].strip()][: self.read]
        parts = self._parts(query, [texts[i] for i in read], backend)

        rows = yield [self.request(query, part.text) for part in parts]
        best = _best_parts(parts, rows)
        scores = self._fused([best[texts[i]].score for i in read], [words[i] for i in read])
        shown = [best[texts[i]].part.text for i in read]
        found, used = yield from self._comparisons(query, shown, scores)
        scores = [score + found.get(j, 0.0) for j, score in enumerate(scores)]

        stages: dict[str, Json] = {
            "candidates": len(documents),
            "read": len(read),
            "windows": len(parts),
            "compared": len(found),
            "settled": self.refine and not found,
        }
        results: list[Json] = [
            self._result(i, score, documents[i], best.get(texts[i]))
            for i, score in whole_ranking(read, scores, words)[: self.top]
        ]
        usage = sum((row.usage for row in rows), used)
        return Answer(value={"results": results, "stages": stages}, usage=usage)

    def request(self, query: str, passage: str) -> ScoreRequest:
        """Does the passage help to answer the query? Or: how likely is the query after it?"""
        if self.scoring == "likelihood":
            system = with_instructions(text_of("rerank", "system_likelihood"), self.instructions)
            passage = fill(text_of("rerank", "passage_alone"), text=passage)
            return _ask(system, "", passage, (query,))
        system = with_instructions(text_of("rerank", "system"), self.instructions)
        return _ask(system, fill(text_of("rerank", "question"), query=query), passage, YES_NO)

    def comparison(self, query: str, passages: Sequence[str]) -> ScoreRequest:
        """Which of these passages answers the query best?"""
        names = tuple(load_prompt("rerank")["names"])[: len(passages)]
        system = fill(text_of("rerank", "system_best"), names=", ".join(names))
        shown = "".join(
            fill(text_of("rerank", "passage"), name=name, text=text)
            for name, text in zip(names, passages, strict=True)
        )
        shared = fill(text_of("rerank", "question_best"), query=query)
        return _ask(with_instructions(system, self.instructions), shared, shown.rstrip(), names)

    def _documents(self, item: Item) -> tuple[Document, ...]:
        if self.documents_column not in item.columns:
            raise InputError(f"there is no column {self.documents_column!r} with the candidates")
        value = item.columns[self.documents_column]
        return () if value is None else parse_documents(value, self.documents_column)

    def _parts(self, query: str, texts: Sequence[str], backend: Backend) -> list[_Part]:
        """What is read: each different text whole, or in windows. Raises `InputTooLong`."""
        limit = min(self.window_tokens, self._room(query, backend) // SET_SIZE)
        if limit < LEAST_WINDOW_TOKENS:
            raise InputTooLong(
                f"the query takes {backend.count_tokens(query)} tokens, which leaves no room for "
                f"candidates; the model has room for {backend.capabilities.context_tokens}",
                hint="shorten the query, or use a model with more context",
            )
        parts = []
        for text in dict.fromkeys(texts):
            if backend.count_tokens(text) <= limit:
                parts.append(_Part(text, 0, text))
                continue
            overlap = int(limit * OVERLAP_SHARE)
            found = windows(text, backend.count_tokens, limit_tokens=limit, overlap_tokens=overlap)
            parts += [_Part(text, window.start, window.text) for window in found]
        return parts

    def _room(self, query: str, backend: Backend) -> int:
        """Tokens that the passages of one prompt may take."""
        bare = (self.request(query, ""), self.comparison(query, [""] * SET_SIZE))
        taken = max(sum(backend.count_tokens(m.content) for m in a.prompt.messages) for a in bare)
        return backend.capabilities.context_tokens - taken - _OVERHEAD_TOKENS

    def _fused(self, said: Sequence[float], words: Sequence[float]) -> list[float]:
        """The score of each candidate that was read."""
        pairs = zip(standardised(said), standardised(words), strict=True)
        return [model + self.bm25_weight * lexical for model, lexical in pairs]

    def _comparisons(
        self, query: str, shown: Sequence[str], scores: Sequence[float]
    ) -> Generator[Sequence[Ask], Sequence[Result], tuple[dict[int, float], Usage]]:
        """What comparing the leaders adds to their scores, and what it cost."""
        top = min(self.top, MOST_PLACES)
        leaders = by_score(range(len(scores)), scores)[: top + SET_SIZE - 1]
        groups = open_groups(leaders, scores, top, MOST_SHIFT) if self.refine else []
        if not groups:
            return {}, Usage()
        rows = yield [
            self.comparison(query, [shown[j] for j in order])
            for group in groups
            for order in turned(group)
        ]
        found = mean_shifts(groups, [scores_of(row).logprobs for row in rows], MOST_SHIFT)
        return found, sum((row.usage for row in rows), Usage())

    def _result(self, index: int, score: float, document: Document, best: _Best | None) -> Json:
        """One entry of the ranking, in the form of `/v1/rerank`, and what it rests on."""
        result: dict[str, Json] = {"index": index, "relevance_score": round(sigmoid(score), 6)}
        if document.id is not None:
            result["id"] = document.id
        if best is not None:
            if self.scoring == "yes-no":
                result["yes"] = round(sigmoid(best.score), 4)
            else:
                result["log_likelihood"] = round(best.score, 4)
            if best.part.text != document.text:
                start = best.part.start
                result["window"] = [start, start + len(best.part.text)]
        if self.return_documents:
            result["document"] = {"text": document.text}
        return result


@dataclass(frozen=True, slots=True)
class _Part:
    """A candidate's text, or a window of it that begins at `start`."""

    whole: str
    start: int
    text: str


@dataclass(frozen=True, slots=True)
class _Best:
    """The part of a candidate that answers the query best, and what the model makes of it."""

    part: _Part
    score: float


def _ask(system: str, shared: str, own: str, choices: tuple[str, ...]) -> ScoreRequest:
    return ScoreRequest(
        prompt=Prompt(
            (Message("system", system), Message("user", shared + own)),
            shared_messages=1,
            shared_chars=len(shared),
        ),
        choices=choices,
    )


def _best_parts(parts: Sequence[_Part], rows: Sequence[Result]) -> dict[str, _Best]:
    """By a candidate's text, its likeliest part; the first of equals."""
    best: dict[str, _Best] = {}
    for part, row in zip(parts, rows, strict=True):
        first, *others = scores_of(row).logprobs  # yes and no, or the query alone
        score = first - sum(others)
        known = best.get(part.whole)
        if known is None or score > known.score:
            best[part.whole] = _Best(part, score)
    return best
