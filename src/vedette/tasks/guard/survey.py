"""What the model is asked about one text: its windows, and the sentences of grey ones."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from vedette.backends.base import Backend, Result
from vedette.tasks.base import Ask
from vedette.tasks.reply import check_room, embedding_of, scores_of
from vedette.tasks.windows import windows
from vedette.types import Message, Usage

from .asking import opening, place_request, request_for
from .evidence import Hit, Reading, Span, between, densest, is_within
from .policy import Policy, Weights
from .probe import Probe
from .sentences import sentences
from .verdict import Piece, score_of

WINDOW_TOKENS = 512
OVERLAP_TOKENS = 64

_Steps: TypeAlias = Generator[Sequence[Ask], Sequence[Result], Usage]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the text: where it is, what it says, and whether that was in code."""

    start: int
    end: int
    text: str
    decoded: bool = False


def stretches(reading: Reading, backend: Backend) -> list[Stretch]:
    """The windows of a text, then those of what it says in code."""
    cut = partial(
        windows,
        count_tokens=backend.count_tokens,
        limit_tokens=WINDOW_TOKENS,
        overlap_tokens=OVERLAP_TOKENS,
    )
    plain = [Stretch(one.start, one.start + len(one.text), one.text) for one in cut(reading.text)]
    return plain + [
        Stretch(hidden.start, hidden.end, one.text, decoded=True)
        for hidden, _ in reading.hidden
        for one in cut(hidden.text)
    ]


@dataclass(frozen=True, slots=True)
class Question:
    """A policy that the model is asked about, with what is known before it answers."""

    policy: Policy
    weights: Weights
    probe: Probe | None
    hits: Sequence[Hit]
    allowed: Sequence[Span]


@dataclass
class Survey:
    """One text under the policies that the rules leave open.

    `pieces` collects, for each of them, what was read of the text and what came of it.
    """

    questions: Sequence[Question]
    reading: Reading
    backend: Backend
    pieces: list[list[Piece]] = field(init=False)

    def __post_init__(self) -> None:
        self.pieces = [[] for _ in self.questions]

    def run(self) -> _Steps:
        """Ask all that there is to ask; the answers are in `pieces`."""
        usage = yield from self._windows()
        usage += yield from self._sentences()
        for question, pieces in zip(self.questions, self.pieces, strict=True):
            pieces += _gathered(densest(question.hits), pieces)
        return usage

    def _windows(self) -> _Steps:
        """Ask about all of the text, and about all that it says in code."""
        parts = stretches(self.reading, self.backend)
        return self._ask([(i, part) for i in range(len(self.questions)) for part in parts])

    def _sentences(self) -> _Steps:
        """Ask about the sentences of windows that may be either, each once; probes have none."""
        text = self.reading.text
        spans = sentences(text)
        asked: list[tuple[int, Stretch]] = []
        for i, question in enumerate(self.questions):
            if question.probe is not None:
                continue
            low, high = question.weights.grey
            grey = [p for p in self.pieces[i] if low <= score_of(p, question.weights) <= high]
            known = {(piece.start, piece.end) for piece in self.pieces[i]}
            asked += [
                (i, Stretch(start, end, text[start:end]))
                for start, end in spans
                if any(start < piece.end and end > piece.start for piece in grey)
                and not any(_is_same(text, start, end, span) for span in known)
                and self.backend.count_tokens(text[start:end]) <= WINDOW_TOKENS
            ]
        return self._ask(asked)

    def _ask(self, wanted: Iterable[tuple[int, Stretch]]) -> _Steps:
        """Put question i about each stretch, without what it allows; blank ones are left out.

        What several policies ask in the same words is asked once.
        """
        asked = [(i, part, self._without_allowed(i, part)) for i, part in wanted]
        asked = [(i, part, shown) for i, part, shown in asked if shown.strip()]
        if not asked:
            return Usage()
        befores = [opening(question.policy) for question in self.questions]
        requests = [self._request(i, shown, befores[i]) for i, _, shown in asked]
        once = list(dict.fromkeys(requests))
        longest = max(once, key=lambda ask: sum(len(m.content) for m in ask.prompt.messages))
        check_room(longest.prompt, 1, self.backend)
        results = yield once
        found = dict(zip(once, results, strict=True))
        for (i, part, _), request in zip(asked, requests, strict=True):
            question = self.questions[i]
            hits = tuple(between(question.hits, part.start, part.end))
            odds = _log_odds(found[request], question.probe)
            self.pieces[i].append(Piece(part.start, part.end, hits, odds))
        return sum((one.usage for one in results), Usage())

    def _request(self, i: int, shown: str, before: tuple[Message, ...]) -> Ask:
        question = self.questions[i]
        if question.probe is not None:
            return place_request(shown, question.probe.prompt)
        return request_for(shown, question.policy, before)

    def _without_allowed(self, i: int, part: Stretch) -> str:
        spans = self.questions[i].allowed
        if part.decoded:
            return "" if is_within(part.start, part.end, spans) else part.text
        kept, at = [], part.start
        for start, end in spans:
            if start < part.end and end > at:
                kept.append(self.reading.text[at : max(at, start)])
                at = min(end, part.end)
        return "".join([*kept, self.reading.text[at : part.end]])


def _log_odds(result: Result, probe: Probe | None) -> float:
    """What the model says, by its embedding or by yes and no."""
    if probe is not None:
        return probe.log_odds(embedding_of(result).vector)
    yes, no = scores_of(result).logprobs
    return yes - no


def _gathered(near: Sequence[Hit], pieces: Sequence[Piece]) -> list[Piece]:
    """Hits that count together though no window holds them all, with the best odds around them."""
    if not near:
        return []
    start, end = near[0].start, max(hit.end for hit in near)
    around = [one.log_odds for one in pieces if one.start < end and one.end > start]
    return [Piece(start, end, tuple(near), max(around))] if around else []


def _is_same(text: str, start: int, end: int, span: Span) -> bool:
    """Whether a window is this one sentence, but for white space around it."""
    first, last = span
    return first <= start and end <= last and text[first:last].strip() == text[start:end]
