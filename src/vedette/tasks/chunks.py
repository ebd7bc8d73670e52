"""A long text in parts that a model reads one after the other, cut where the text has its seams."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from vedette.backends.base import Backend, Result
from vedette.errors import InputTooLong

from .base import Ask
from .compress.passages import CHUNK_TOKENS, passages
from .compress.selection import Candidate
from .compress.split import units

LEAST_CHUNK_TOKENS = 64
WAVE = 16
"""So many parts are asked about at once: enough to fill a batch, and few that wait in memory."""

_TEMPLATE_TOKENS = 48  # what a chat template puts around messages, at most, and a margin


@dataclass(frozen=True, slots=True)
class Chunk:
    """`[start, end)` of the text, in characters."""

    start: int
    end: int


def chunk_limit(
    asked: int | None, around: Sequence[str], answer_tokens: int, backend: Backend
) -> int:
    """Tokens of a part: as asked, else what the model is good for, else `CHUNK_TOKENS`.

    `around` are the texts that stand in the prompt beside it. What `vedette context` has found
    bounds the whole prompt with its answer, as the model's context does. Raises `InputTooLong`
    where there is no room.
    """
    taken = sum(map(backend.count_tokens, around)) + answer_tokens + _TEMPLATE_TOKENS
    room = backend.capabilities.context_tokens - taken
    useful = backend.capabilities.useful_tokens
    wanted = asked or (CHUNK_TOKENS if useful is None else useful - taken)
    limit = min(room, max(LEAST_CHUNK_TOKENS, wanted))
    if limit < LEAST_CHUNK_TOKENS:
        raise InputTooLong(
            f"the instructions and the answer take {taken} tokens; of "
            f"{backend.capabilities.context_tokens} there is no room for the text",
            hint="use a model with more context",
        )
    return limit


def chunks(text: str, count_tokens: Callable[[str], int], *, most_tokens: int) -> list[Chunk]:
    """The parts, in order: as long as may be, ended at headings and blocks where that is near.

    No sentence is cut that has up to 600 characters, and nothing but white space is left out.
    """
    every = [Candidate(number, unit, 0.0) for number, unit in enumerate(units(text))]
    found = passages(
        text, every, count_tokens, most_tokens=most_tokens, least_tokens=most_tokens * 3 // 4
    )
    return [Chunk(*passage.span) for passage in found]


def in_waves(asks: Sequence[Ask]) -> Generator[Sequence[Ask], Sequence[Result], list[Result]]:
    """Have all of them answered, some at a time."""
    results: list[Result] = []
    for i in range(0, len(asks), WAVE):
        results += yield asks[i : i + WAVE]
    return results
