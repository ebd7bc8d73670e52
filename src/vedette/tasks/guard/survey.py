"""What the model is asked about one text: its windows, then the sentences of the grey ones."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from vedette.backends.base import Backend, Result
from vedette.tasks.base import Ask
from vedette.tasks.reply import check_room, scores_of
from vedette.tasks.windows import Window, windows
from vedette.types import Message, Usage

from .asking import request_for
from .evidence import Hit, Reading, Span, between, is_within
from .policy import Policy
from .sentences import sentences
from .verdict import Piece, score_of

WINDOW_TOKENS = 512
OVERLAP_TOKENS = 64

Priors: TypeAlias = Sequence[float]
_Steps: TypeAlias = Generator[Sequence[Ask], Sequence[Result], Usage]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the text: where it is, what it says, and whether that was in code."""

    start: int
    end: int
    text: str
    decoded: bool = False


@dataclass
class Survey:
    """One text under several policies; `hits` and `allowed` have a list for each of them.

    `pieces` collects, for each policy, what was read of the text and what came of it.
    """

    policies: Sequence[Policy]
    system: Message
    reading: Reading
    hits: Sequence[Sequence[Hit]]
    allowed: Sequence[Sequence[Span]]
    backend: Backend
    pieces: list[list[Piece]] = field(init=False)

    def __post_init__(self) -> None:
        self.pieces = [[] for _ in self.policies]

    def windows(self, priors: Priors) -> _Steps:
        """Ask about all of the text, and about all that it says in code."""
        text = self.reading.text
        parts = [Stretch(one.start, one.start + len(one.text), one.text) for one in self._cut(text)]
        for hidden, _ in self.reading.hidden:
            said = self._cut(hidden.text)
            parts += [Stretch(hidden.start, hidden.end, one.text, decoded=True) for one in said]
        return self._ask([(i, part) for part in parts for i in range(len(self.policies))], priors)

    def sentences(self, priors: Priors) -> _Steps:
        """Ask about the sentences of windows that may be either, each once."""
        text = self.reading.text
        spans = sentences(text)
        asked: list[tuple[int, Stretch]] = []
        for i, policy in enumerate(self.policies):
            low, high = policy.with_model.grey
            grey = [p for p in self.pieces[i] if low <= score_of(p, policy.with_model) <= high]
            known = {(piece.start, piece.end) for piece in self.pieces[i]}
            asked += [
                (i, Stretch(start, end, text[start:end]))
                for start, end in spans
                if any(start < piece.end and end > piece.start for piece in grey)
                and not any(_is_same(text, start, end, span) for span in known)
                and self.backend.count_tokens(text[start:end]) <= WINDOW_TOKENS
            ]
        asked.sort(key=lambda one: (one[1].start, one[0]))
        return self._ask(asked, priors)

    def _cut(self, text: str) -> Sequence[Window]:
        return windows(
            text,
            self.backend.count_tokens,
            limit_tokens=WINDOW_TOKENS,
            overlap_tokens=OVERLAP_TOKENS,
        )

    def _ask(self, wanted: Sequence[tuple[int, Stretch]], priors: Priors) -> _Steps:
        """Ask policy i about each stretch, without what it allows; blank ones are left out."""
        asked = [(i, part, self._without_allowed(i, part)) for i, part in wanted]
        asked = [(i, part, shown) for i, part, shown in asked if shown.strip()]
        if not asked:
            return Usage()
        requests = [request_for(shown, self.policies[i], self.system) for i, _, shown in asked]
        longest = max(requests, key=lambda request: len(request.prompt.messages[1].content))
        check_room(longest.prompt, 1, self.backend)
        results = yield requests
        usage = Usage()
        for (i, part, _), result in zip(asked, results, strict=True):
            scores = scores_of(result)
            usage += scores.usage
            yes, no = scores.logprobs
            hits = tuple(between(self.hits[i], part.start, part.end))
            self.pieces[i].append(Piece(part.start, part.end, hits, yes - no - priors[i]))
        return usage

    def _without_allowed(self, i: int, part: Stretch) -> str:
        spans = self.allowed[i]
        if part.decoded:
            return "" if is_within(part.start, part.end, spans) else part.text
        kept, at = [], part.start
        for start, end in spans:
            if start < part.end and end > at:
                kept.append(self.reading.text[at : max(at, start)])
                at = min(end, part.end)
        return "".join([*kept, self.reading.text[at : part.end]])


def _is_same(text: str, start: int, end: int, span: Span) -> bool:
    """Whether a window is this one sentence, but for white space around it."""
    first, last = span
    return first <= start and end <= last and text[first:last].strip() == text[start:end]
