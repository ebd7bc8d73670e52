"""Key points of a text, written by a model part by part, and held against the part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from vedette.backends.base import Result
from vedette.json_text import json_text
from vedette.tasks.chunks import Chunk
from vedette.tasks.grounding import Grounding
from vedette.tasks.prompt_data import fill, prompt_of, text_of
from vedette.tasks.reply import completion_of, json_of
from vedette.types import Constraint, Json, Request

from .leading import leading
from .selection import CountTokens, select
from .split import is_dense

POINT_CHARS = 200
MOST_POINTS = 8
POINT_TOKENS = 25  # what one comes to, roughly
_SPARE = 2.0  # so many times the budget is written, for what is dropped


@dataclass(frozen=True, slots=True)
class Point:
    """A sentence of the model's, and the part of the text that it was written from."""

    text: str
    chunk: Chunk


def points_per_chunk(budget: int, n_chunks: int) -> int:
    """How many to ask for, so that all together fill the budget."""
    return max(1, min(MOST_POINTS, round(_SPARE * budget / (POINT_TOKENS * max(1, n_chunks)))))


def point_tokens(count: int) -> int:
    """Most tokens of an answer with that many."""
    return 24 + count * (POINT_CHARS // 2)


def points_request(text: str, query: str, count: int) -> Request:
    """The question about one part; in Chinese about a Chinese one."""
    language = "_zh" if is_dense(text, 0, len(text)) and Grounding(text).script == "HAN" else ""
    kind = "query" if query.strip() else "general"
    wanted = fill(text_of("compress", f"points_{kind}{language}"), count=str(count), query=query)
    asked = fill(text_of("compress", f"points{language}"), text=text, wanted=wanted)
    return Request(
        prompt=prompt_of(text_of("compress", f"points_system{language}"), asked),
        constraint=Constraint("json_schema", json_text(_schema(count, bool(query.strip())))),
        max_tokens=point_tokens(count),
    )


def _schema(count: int, may_be_empty: bool) -> Json:
    one: dict[str, Json] = {"type": "string", "minLength": 1, "maxLength": POINT_CHARS}
    many: dict[str, Json] = {"type": "array", "items": one, "maxItems": count}
    if not may_be_empty:
        many["minItems"] = 1
    return {
        "type": "object",
        "properties": {"points": many},
        "required": ["points"],
        "additionalProperties": False,
    }


def points_of(
    text: str, chunks: Sequence[Chunk], results: Sequence[Result]
) -> tuple[list[Point], int]:
    """What may be passed on, in order, and how many points may not.

    A point is held against its own part. One that was cut at its bound is none.
    """
    kept: list[Point] = []
    n_wrong = 0
    for chunk, result in zip(chunks, results, strict=True):
        part = Grounding(text[chunk.start : chunk.end])
        value = cast(dict[str, list[str]], json_of(completion_of(result)))
        for one in value["points"]:
            said = " ".join(one.split())
            if len(one) >= POINT_CHARS or part.fault(said) is not None:
                n_wrong += 1
            else:
                kept.append(Point(said, chunk))
    return kept, n_wrong


def points_value(
    points: Sequence[Point], query: str, budget: int, count_tokens: CountTokens
) -> dict[str, Json]:
    """The points that matter most within the budget, in order, each with where it is from.

    They are chosen as sentences are: the notes are a text of their own, a block for each point.
    Raises `BudgetTooSmall` when not one fits.
    """
    notes = "\n".join(f"- {point.text}" for point in points)
    lead = leading(notes, query, budget)
    kept = select(notes, lead.candidates, count_tokens, budget)
    listed: list[Json] = [
        {
            "text": notes[unit.start : unit.end].removeprefix("- "),
            "span": [points[unit.block].chunk.start, points[unit.block].chunk.end],
        }
        for unit in kept.units
    ]
    value: dict[str, Json] = {
        "text": kept.text,
        "tokens": kept.tokens,
        "points": listed,
        "dropped": {
            "points": lead.n_units - len(kept.units),
            "duplicates": kept.n_duplicates,
        },
    }
    if query.strip():
        value["query_found"] = lead.query_found
    return value
