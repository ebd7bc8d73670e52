"""A text of any length, shortened to what matters: its sentences or key points, in a budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeAlias, cast

from vedette.backends.base import Backend
from vedette.decide.closed import decide
from vedette.decide.question import YES_NO
from vedette.errors import CapabilityMissing, InputError
from vedette.tasks.base import Steps
from vedette.tasks.budget import check_at_least_1
from vedette.tasks.chunks import LEAST_CHUNK_TOKENS, chunk_limit, chunks, in_waves
from vedette.tasks.prompt_data import fill, load_prompt, text_of
from vedette.tasks.reply import check_room, scores_of
from vedette.types import Answer, Item, Json, Message, Prompt, ScoreRequest, Usage

from .leading import Leading, leading
from .passages import Passage, passages
from .points import (
    MOST_POINTS,
    point_tokens,
    points_of,
    points_per_chunk,
    points_request,
    points_value,
)
from .selection import Candidate, Kept, select

How: TypeAlias = Literal["sentences", "points"]

BUDGET_TOKENS = 2000
MOST_PASSAGES = 256
MODEL_WEIGHT = 0.5  # of the model's opinion beside the rules', both from 0 to 1
PIECE_CHARS = 1_000_000


class Tokenizer(Protocol):
    """What counts the tokens of the budget."""

    @property
    def identity(self) -> dict[str, Json]:
        """What the counts depend on."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of a text."""
        ...


@dataclass(frozen=True)
class Compress:
    """Implements `Task`: the sentences of a text that matter most, verbatim and in order.

    `query` is what they should help to answer; without one they are what the text is about. The
    answer's text has at most `budget` tokens by `tokenizer` (None: the backend's own), counted as a
    whole. `model_share` is the part of the text that the model may read to correct the ranking of
    the leading passages by a yes or no each; 0 asks nothing, and needs no model but its tokenizer.

    With `how` points, the model writes key points of every part of the text instead, of
    `chunk_tokens` each (None: see `chunk_limit`). Numbers, names and negations are held against the
    part, what fails is left out, and of the rest the best that fit are kept, in order.
    Raises `InputError` for values that cannot be meant.
    """

    query: str = ""
    budget: int = BUDGET_TOKENS
    model_share: float = 0.0
    how: How = "sentences"
    chunk_tokens: int | None = None
    tokenizer: Tokenizer | None = field(default=None, compare=False)
    name: str = field(default="compress", init=False)

    def __post_init__(self) -> None:
        check_at_least_1("budget", self.budget)
        if not 0 <= self.model_share <= 1:
            raise InputError(f"model_share is {self.model_share}; it must be from 0 to 1")
        if self.how == "points" and self.model_share:
            raise InputError("model_share goes with sentences: points are of the whole text")
        if self.how == "sentences" and self.chunk_tokens is not None:
            raise InputError("chunk_tokens goes with points: sentences are ranked without parts")
        if self.chunk_tokens is not None and self.chunk_tokens < LEAST_CHUNK_TOKENS:
            raise InputError(
                f"chunk_tokens is {self.chunk_tokens}; it must be at least {LEAST_CHUNK_TOKENS}"
            )
        if self.model_share and not self.query.strip():
            raise InputError("model_share goes with a query: there is nothing else to ask about")

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        asks = self.model_share or self.how == "points"
        return {
            "query": self.query,
            "how": self.how,
            "prompt": cast(Json, load_prompt("compress")) if asks else None,
            "tokenizer": self.tokenizer.identity if self.tokenizer else None,
            "parameters": {
                "budget": self.budget,
                "model_share": self.model_share,
                "chunk_tokens": self.chunk_tokens,
            },
        }

    @property
    def keeps_parts(self) -> bool:
        """See `CutsTexts`."""
        return self.how == "points" or self.model_share > 0

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        if self.how == "points" and not backend.capabilities.can_constrain:
            raise CapabilityMissing("points need a backend that can constrain its output")
        if self.model_share and not backend.capabilities.can_score:
            raise CapabilityMissing("model_share needs a backend that can score choices")
        if not item.text.strip():
            return Answer(value=None, extra={"empty": True})
        count = (self.tokenizer or backend).count_tokens
        source_tokens = count_in_pieces(item.text, count)
        if source_tokens <= self.budget:
            return Answer(value=_whole(item.text, source_tokens))
        if self.how == "points":
            return (yield from self._points(item.text, source_tokens, count, backend))
        lead = leading(item.text, self.query, self.budget)
        asked: list[Passage] = []
        usage = Usage()
        if self.model_share:
            asked = self._asked(item.text, lead.candidates, source_tokens, backend)
            requests = [self.request(item.text, passage) for passage in asked]
            results = yield from in_waves(requests)
            rows = [scores_of(result) for result in results]
            usage = sum((row.usage for row in rows), usage)
            odds = [decide(YES_NO, row.logprobs).probabilities[0] for row in rows]
            lead = replace(lead, candidates=_corrected(lead.candidates, asked, odds))
        kept = select(item.text, lead.candidates, count, self.budget)
        return Answer(value=self._value(kept, lead, source_tokens, asked), usage=usage)

    def request(self, text: str, passage: Passage) -> ScoreRequest:
        """Does the passage help to answer the query? The query stands first and is shared."""
        start, end = passage.span
        before = fill(text_of("compress", "question"), query=self.query)
        after = fill(text_of("compress", "passage"), passage=text[start:end])
        messages = (
            Message("system", text_of("compress", "system")),
            Message("user", before + after),
        )
        prompt = Prompt(messages, shared_messages=1, shared_chars=len(before))
        return ScoreRequest(prompt=prompt, choices=YES_NO)

    def _points(
        self, text: str, source_tokens: int, count: Callable[[str], int], backend: Backend
    ) -> Steps:
        """Key points instead of sentences; where none may be passed on, sentences after all."""
        around = points_request("", self.query, MOST_POINTS).prompt.messages
        limit = chunk_limit(
            self.chunk_tokens,
            [message.content for message in around],
            point_tokens(MOST_POINTS),
            backend,
        )
        parts = chunks(text, backend.count_tokens, most_tokens=limit)
        n_each = points_per_chunk(self.budget, len(parts))
        asks = [points_request(text[part.start : part.end], self.query, n_each) for part in parts]
        results = yield from in_waves(asks)
        usage = sum((result.usage for result in results), Usage())
        points, n_wrong = points_of(text, parts, results)
        value = points_value(points, self.query, self.budget, count) if points else None
        told: dict[str, Json] = {"chunks": len(parts), "unfaithful": n_wrong}
        if value is None:
            lead = leading(text, self.query, self.budget)
            kept = select(text, lead.candidates, count, self.budget)
            value = {**self._value(kept, lead, source_tokens, ()), "fallback": "sentences"}
        return Answer(value={**value, "source_tokens": source_tokens, **told}, usage=usage)

    def _asked(
        self, text: str, candidates: Sequence[Candidate], source_tokens: int, backend: Backend
    ) -> list[Passage]:
        """The leading passages, as many as the model may read."""
        found = passages(text, candidates, backend.count_tokens)
        ranked = sorted(found, key=lambda one: -one.score)
        left = self.model_share * source_tokens
        asked: list[Passage] = []
        for passage in ranked[:MOST_PASSAGES]:
            if passage.tokens > left:
                break
            left -= passage.tokens
            asked.append(passage)
        if asked:
            longest = max(asked, key=lambda one: one.tokens)
            check_room(self.request(text, longest).prompt, 1, backend)
        return asked

    def _value(
        self, kept: Kept, lead: Leading, source_tokens: int, asked: Sequence[Passage]
    ) -> dict[str, Json]:
        value: dict[str, Json] = {
            "text": kept.text,
            "tokens": kept.tokens,
            "source_tokens": source_tokens,
            "spans": [[start, end] for start, end in kept.spans],
            "dropped": {
                "sentences": lead.n_units - len(kept.units),
                "duplicates": kept.n_duplicates,
            },
        }
        if self.query.strip():
            value["query_found"] = lead.query_found
        if self.model_share:
            value["asked_passages"] = len(asked)
        return value


def count_in_pieces(text: str, count: Callable[[str], int]) -> int:
    """Tokens of a text; a very long one is counted in pieces, which can differ by one at a seam."""
    return sum(
        count(text[start : start + PIECE_CHARS]) for start in range(0, len(text), PIECE_CHARS)
    )


def _whole(text: str, tokens: int) -> dict[str, Json]:
    """A text that fits is left as it is."""
    return {
        "text": text,
        "tokens": tokens,
        "source_tokens": tokens,
        "spans": [[0, len(text)]],
        "dropped": {"sentences": 0, "duplicates": 0},
    }


def _corrected(
    candidates: Sequence[Candidate], asked: Sequence[Passage], odds: Sequence[float]
) -> tuple[Candidate, ...]:
    """The scores with the model's opinion in them; what it did not read counts as average."""
    opinion = {
        one.number: p for passage, p in zip(asked, odds, strict=True) for one in passage.candidates
    }
    low, high = min(odds, default=0.0), max(odds, default=0.0)
    width = high - low or 1.0
    top = max((one.score for one in candidates), default=0.0) or 1.0
    mean = sum(odds) / len(odds) if odds else 0.0

    def score(one: Candidate) -> float:
        said = (opinion.get(one.number, mean) - low) / width
        return (1 - MODEL_WEIGHT) * one.score / top + MODEL_WEIGHT * said

    return tuple(replace(one, score=score(one)) for one in candidates)
