"""Candidates in the order of how well they answer a query: a first order, then a model's odds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from vedette.backends.base import Backend, Result
from vedette.decide.question import YES_NO
from vedette.errors import CapabilityMissing, InputError, InputTooLong
from vedette.types import Answer, Item, Json, Message, Prompt, ScoreRequest, Usage

from .base import Steps
from .bm25 import bm25
from .budget import check_at_least_1
from .documents import Document, parse_documents
from .neighbours import lent
from .prompt_data import fill, load_prompt, text_of, with_instructions
from .ranking import (
    FIRST_WEIGHT,
    NEIGHBOURS,
    ORDER,
    ORDERS,
    POOL,
    READ,
    SCORING,
    SCORINGS,
    WINDOW_TOKENS,
    places,
    sigmoid,
    standardised,
    whole_ranking,
)
from .reply import scores_of
from .windows import LEAST_WINDOW_TOKENS, windows

OVERLAP_SHARE = 0.15
_OVERHEAD_TOKENS = 64  # the chat template, and the ends of lines


@dataclass(frozen=True)
class Rerank:
    """Implements `Task`: the item's text is the query, its column `documents` the candidates.

    The first order is that of the candidates (`order` given: the hits of a search, best first) or
    of BM25 over them (words: any texts, such as all of a collection). The first `read` are read by
    the model, one at a time. With `scoring` likelihood the score is how likely the query is as a
    question about the passage (Sachan et al. 2022, arXiv 2204.07496); with yes-no the model is
    asked whether the passage helps to answer the query, and it is the log-odds of yes. To that,
    `first_weight` times the place in the first order is added (the logarithm of it: a place
    matters most near the top), both in standard deviations. A candidate longer than `window_tokens`
    is read in windows; its best one counts. Then the first `POOL` candidates lend each other
    scores: `neighbours` is the share of a score that comes from a candidate and those most like it
    (see `neighbours.lent`).

    The value has `results`, the best `top`, and `stages`, what was done. The order is a
    permutation of the candidates whatever the model says; ties go to the earlier candidate.
    Raises `InputError` for parameters that are none.
    """

    top: int = 5
    read: int = READ
    order: str = ORDER
    scoring: str = SCORING
    first_weight: float = FIRST_WEIGHT
    neighbours: float = NEIGHBOURS
    window_tokens: int = WINDOW_TOKENS
    return_documents: bool = False
    instructions: str = ""
    documents_column: str = "documents"
    name: str = field(default="rerank", init=False)

    def __post_init__(self) -> None:
        check_at_least_1("top", self.top)
        if self.read < 0:
            raise InputError(f"read is {self.read}; it must be 0 or more")
        if not 0 <= self.neighbours < 1:
            raise InputError(f"neighbours is {self.neighbours}; it must be in [0, 1)")
        for name, known in (("order", ORDERS), ("scoring", SCORINGS)):
            value = getattr(self, name)
            if value not in known:
                raise InputError(f"{name} must be one of {', '.join(known)}, not {value!r}")
        if self.window_tokens < LEAST_WINDOW_TOKENS:
            raise InputError(
                f"window_tokens is {self.window_tokens}; it must be at least {LEAST_WINDOW_TOKENS}"
            )
        if not 0 <= self.first_weight < math.inf:
            raise InputError(f"first_weight is {self.first_weight}; it must be 0 or more")

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        return {
            "prompt": cast(Json, load_prompt("rerank")),
            "instructions": self.instructions,
            "parameters": {
                "top": self.top,
                "read": self.read,
                "order": self.order,
                "scoring": self.scoring,
                "first_weight": self.first_weight,
                "neighbours": self.neighbours,
                "window_tokens": self.window_tokens,
                "return_documents": self.return_documents,
            },
        }

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        if self.read and not backend.capabilities.can_score:
            raise CapabilityMissing("rerank needs a backend that can score choices")
        documents = self._documents(item)
        if not documents:
            return Answer(value={"results": [], "stages": {"candidates": 0}})
        query, texts = item.text.strip(), [document.text for document in documents]
        if not query:
            raise InputError("the query is empty", hint="without one there is no order")
        place_of = self._places(query, texts)
        first = sorted(range(len(texts)), key=lambda i: (place_of[i], i))
        pool = [i for i in first if texts[i].strip()][: max(POOL, self.read)]
        read = pool[: self.read]
        parts = self._parts(query, [texts[i] for i in read], backend) if read else []

        rows: Sequence[Result] = ()
        if parts:
            rows = yield [self.request(query, part.text) for part in parts]
        best = _best_parts(parts, rows)
        said = [best[texts[i]].score for i in read]
        scores = self._fused(said, [place_of[i] for i in pool], [texts[i] for i in pool])
        stages: dict[str, Json] = {
            "candidates": len(documents),
            "read": len(read),
            "windows": len(parts),
        }
        results: list[Json] = [
            self._result(i, score, documents[i], best.get(texts[i]))
            for i, score in whole_ranking(pool, scores, first)[: self.top]
        ]
        usage = sum((row.usage for row in rows), Usage())
        return Answer(value={"results": results, "stages": stages}, usage=usage)

    def request(self, query: str, passage: str) -> ScoreRequest:
        """Does the passage help to answer the query? Or: how likely is the query after it?"""
        if self.scoring == "likelihood":
            system = with_instructions(text_of("rerank", "system_likelihood"), self.instructions)
            passage = fill(text_of("rerank", "passage_alone"), text=passage)
            return _ask(system, "", passage, (query,))
        system = with_instructions(text_of("rerank", "system"), self.instructions)
        return _ask(system, fill(text_of("rerank", "question"), query=query), passage, YES_NO)

    def _documents(self, item: Item) -> tuple[Document, ...]:
        if self.documents_column not in item.columns:
            raise InputError(f"there is no column {self.documents_column!r} with the candidates")
        value = item.columns[self.documents_column]
        return () if value is None else parse_documents(value, self.documents_column)

    def _parts(self, query: str, texts: Sequence[str], backend: Backend) -> list[_Part]:
        """What is read: each different text whole, or in windows. Raises `InputTooLong`."""
        limit = min(self.window_tokens, self._room(query, backend))
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
        """Tokens that a passage may take beside the query."""
        bare = self.request(query, "")
        asked = sum(backend.count_tokens(m.content) for m in bare.prompt.messages)
        scored = sum(map(backend.count_tokens, bare.choices))
        return backend.capabilities.context_tokens - asked - scored - _OVERHEAD_TOKENS

    def _places(self, query: str, texts: Sequence[str]) -> list[int]:
        """The place of each candidate in the first order, from 0; by words, equals share one."""
        if self.order == "given":
            return list(range(len(texts)))
        return places(bm25(query, texts))

    def _fused(
        self, said: Sequence[float], before: Sequence[int], texts: Sequence[str]
    ) -> list[float]:
        """The scores of candidates, from their places before and what the model says of the first.

        One that was not read counts as the mean of those that were.
        """
        worth = standardised([-math.log(place + 1) for place in before])
        model = [*standardised(said), *[0.0] * (len(before) - len(said))]
        own = [m + self.first_weight * w for m, w in zip(model, worth, strict=True)]
        return standardised(lent(own, texts, self.neighbours))

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
