"""Candidates in the order of how well they answer a query: a first order, and a model's word."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from vedette.backends.base import Backend, Result
from vedette.errors import CapabilityMissing, InputError, InputTooLong
from vedette.types import Answer, Item, Json, ScoreRequest, Usage

from .base import Ask, Steps
from .bm25 import bm25
from .budget import check_at_least_1
from .documents import Document, parse_documents
from .neighbours import lent
from .passages import Best, Part, best_parts, parts_of
from .prompt_data import load_prompt
from .ranking import (
    FIRST_WEIGHT,
    METHOD,
    METHODS,
    NEIGHBOURS,
    OPENING_TOKENS,
    ORDER,
    ORDERS,
    POOL,
    READ,
    READING_METHODS,
    WHOLE_TOKENS,
    Method,
    places,
    sigmoid,
    standardised,
    whole_ranking,
    worth,
)
from .rerank_asks import requests, said_of
from .windows import LEAST_WINDOW_TOKENS

_OVERHEAD_TOKENS = 64  # the chat template, and the ends of lines
_SAID = {"embedding": "similarity", "likelihood": "log_likelihood", "yes-no": "yes"}


@dataclass(frozen=True)
class Rerank:
    """Implements `Task`: the item's text is the query, its column `documents` the candidates.

    The first order is that of the candidates (`order` given: the hits of a search, best first) or
    of BM25 over them (words: any texts, such as all of a collection). Its first `POOL` candidates
    can change places. What the model adds goes by `method`:

    - embedding: how near the query is to each of them in what the model expects to come after both
      (see `nearness`). An embedding does not depend on the query, so it is kept for the next one.
    - likelihood: how likely the query is as a question about each of the first `read` (Sachan et
      al. 2022, arXiv 2204.07496).
    - yes-no: the log-odds that each of these helps to answer the query.
    - words: nothing.

    To that, `first_weight` times what the place in the first order is worth is added (see
    `ranking.worth`), both in standard deviations. A candidate longer than `window_tokens` is taken
    by its opening; with `whole`, in windows, of which the best one counts. Then candidates lend
    each other scores: `neighbours` is the share of a score that comes from a candidate and those
    most like it (see `neighbours.lent`).

    `read`, `window_tokens` and `whole` are by default what suits the method. The value has
    `results`, the best `top`, and `stages`, what was done. The order is a permutation of the
    candidates whatever the model says; ties go to the earlier candidate.
    Raises `InputError` for parameters that are none, or that the method has no use for.
    """

    top: int = 5
    method: Method = METHOD
    order: str = ORDER
    read: int | None = None
    first_weight: float = FIRST_WEIGHT
    neighbours: float = NEIGHBOURS
    window_tokens: int | None = None
    whole: bool | None = None
    return_documents: bool = False
    instructions: str = ""
    documents_column: str = "documents"
    name: str = field(default="rerank", init=False)

    def __post_init__(self) -> None:
        check_at_least_1("top", self.top)
        for name, known in (("order", ORDERS), ("method", METHODS)):
            value = getattr(self, name)
            if value not in known:
                raise InputError(f"{name} must be one of {', '.join(known)}, not {value!r}")
        self._check_use()
        if self.read is not None:
            check_at_least_1("read", self.read)
        if not 0 <= self.neighbours < 1:
            raise InputError(f"neighbours is {self.neighbours}; it must be in [0, 1)")
        if self._window_tokens < LEAST_WINDOW_TOKENS:
            raise InputError(
                f"window_tokens is {self.window_tokens}; it must be at least {LEAST_WINDOW_TOKENS}"
            )
        if not 0 <= self.first_weight < math.inf:
            raise InputError(f"first_weight is {self.first_weight}; it must be 0 or more")

    def _check_use(self) -> None:
        """Raises `InputError` for a parameter that this method would ignore."""
        unused = {
            "embedding": ("read",),
            "words": ("read", "first_weight", "window_tokens", "whole", "instructions"),
        }
        for name in unused.get(self.method, ()):
            if getattr(self, name) != getattr(type(self), name):
                raise InputError(f"{name} has no meaning with method {self.method}")

    @property
    def asks_model(self) -> bool:
        """Whether a model is needed."""
        return self.method != "words"

    @property
    def keeps_places(self) -> bool:
        """See `KeepsPlaces`: candidates come again with other queries."""
        return self.method == "embedding"

    @property
    def _reads(self) -> bool:
        return self.method in READING_METHODS

    @property
    def _n_asked(self) -> int:
        """How many candidates the model is asked about."""
        if self._reads:
            return READ if self.read is None else self.read
        return POOL if self.asks_model else 0

    @property
    def _window_tokens(self) -> int:
        default = WHOLE_TOKENS if self._reads else OPENING_TOKENS
        return default if self.window_tokens is None else self.window_tokens

    @property
    def _whole(self) -> bool:
        return self._reads if self.whole is None else self.whole

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        return {
            "prompt": cast(Json, load_prompt("rerank")),
            "instructions": self.instructions,
            "parameters": {
                "top": self.top,
                "method": self.method,
                "order": self.order,
                "read": self._n_asked,
                "first_weight": self.first_weight,
                "neighbours": self.neighbours,
                "window_tokens": self._window_tokens,
                "whole": self._whole,
                "return_documents": self.return_documents,
            },
        }

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        self._check_backend(backend)
        documents = self._documents(item)
        if not documents:
            none: dict[str, Json] = {"candidates": 0, "read": 0, "windows": 0}
            return Answer(value={"results": [], "stages": none})
        query, texts = item.text.strip(), [document.text for document in documents]
        if not query:
            raise InputError("the query is empty", hint="without one there is no order")
        place_of = self._places(query, texts)
        first = sorted(range(len(texts)), key=lambda i: (place_of[i], i))
        pool = [i for i in first if texts[i].strip()][: max(POOL, self._n_asked)]
        asked = pool[: self._n_asked]
        parts = self._parts(query, [texts[i] for i in asked], backend) if asked else []

        rows: Sequence[Result] = ()
        if parts:
            rows = yield self.requests(query, [part.text for part in parts])
        best = best_parts(parts, said_of(self.method, rows))
        said = [best[texts[i]].score for i in asked]
        scores = self._fused(said, [place_of[i] for i in pool], [texts[i] for i in pool])
        stages: dict[str, Json] = {
            "candidates": len(documents),
            "read": len(asked),
            "windows": len(parts),
        }
        results: list[Json] = [
            self._result(i, score, documents[i], best.get(texts[i]))
            for i, score in whole_ranking(pool, scores, first)[: self.top]
        ]
        usage = sum((row.usage for row in rows), Usage())
        return Answer(value={"results": results, "stages": stages}, usage=usage)

    def requests(self, query: str, passages: Sequence[str]) -> list[Ask]:
        """What the model is asked."""
        return requests(self.method, query, passages, self.instructions)

    def _check_backend(self, backend: Backend) -> None:
        can = backend.capabilities
        if self._reads and not can.can_score:
            raise CapabilityMissing(
                f"rerank by {self.method} needs a backend that can score choices",
                hint="use --backend local, or --method words",
            )
        if self.method == "embedding" and not can.can_embed:
            raise CapabilityMissing(
                "rerank by embedding needs a backend that can embed",
                hint="use --backend local, or --method "
                + ("likelihood" if can.can_score else "words"),
            )

    def _documents(self, item: Item) -> tuple[Document, ...]:
        if self.documents_column not in item.columns:
            raise InputError(f"there is no column {self.documents_column!r} with the candidates")
        value = item.columns[self.documents_column]
        return () if value is None else parse_documents(value, self.documents_column)

    def _parts(self, query: str, texts: Sequence[str], backend: Backend) -> list[Part]:
        """What is read of the candidates. Raises `InputTooLong`."""
        room = self._room(query, backend)
        limit = min(self._window_tokens, room)
        if limit < LEAST_WINDOW_TOKENS:
            raise InputTooLong(
                f"the query takes {backend.count_tokens(query)} tokens, which leaves no room for "
                f"candidates; the model has room for {backend.capabilities.context_tokens}",
                hint="shorten the query, or use a model with more context",
            )
        return parts_of(texts, backend.count_tokens, limit, whole=self._whole)

    def _room(self, query: str, backend: Backend) -> int:
        """Tokens that a passage may take, beside the query where both are read together."""
        taken = 0
        for bare in self.requests(query, [""]):
            choices = bare.choices if isinstance(bare, ScoreRequest) else ()
            texts = (*(m.content for m in bare.prompt.messages), *choices)
            taken = max(taken, sum(map(backend.count_tokens, texts)))
        return backend.capabilities.context_tokens - taken - _OVERHEAD_TOKENS

    def _places(self, query: str, texts: Sequence[str]) -> list[int]:
        """The place of each candidate in the first order, from 0; by words, equals share one."""
        if self.order == "given":
            return list(range(len(texts)))
        return places(bm25(query, texts))

    def _fused(
        self, said: Sequence[float], before: Sequence[int], texts: Sequence[str]
    ) -> list[float]:
        """The scores of candidates, from their places before and what the model says of the first.

        One that it was not asked about counts as the mean of the others.
        """
        first = standardised([worth(place) for place in before])
        model = [*standardised(said), *[0.0] * (len(before) - len(said))]
        own = [m + self.first_weight * w for m, w in zip(model, first, strict=True)]
        return standardised(lent(own, texts, self.neighbours))

    def _result(self, index: int, score: float, document: Document, best: Best | None) -> Json:
        """One entry of the ranking, in the form of `/v1/rerank`, and what it rests on."""
        result: dict[str, Json] = {"index": index, "relevance_score": round(sigmoid(score), 6)}
        if document.id is not None:
            result["id"] = document.id
        if best is not None:
            said = sigmoid(best.score) if self.method == "yes-no" else best.score
            result[_SAID[self.method]] = round(said, 4)
            if best.part.text != document.text:
                start = best.part.start
                result["window"] = [start, start + len(best.part.text)]
        if self.return_documents:
            result["document"] = {"text": document.text}
        return result
