"""The words of a text that a label rests on, copied from it."""

from __future__ import annotations

from typing import cast

from vedette.backends.base import Result
from vedette.json_text import json_text
from vedette.types import Constraint, Json, Message, Prompt, Request

from .prompt_data import fill, text_of
from .reply import completion_of, json_of
from .spans import spans_of

MAX_CHARS = 200
SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"words": {"type": "string", "x-verbatim": True, "maxLength": MAX_CHARS}},
    "required": ["words"],
    "additionalProperties": False,
}


def evidence_request(prompt: Prompt, said: str, label: str, text: str) -> Request:
    """Asks on where `prompt`, which has the text, was answered with `said`, for the label."""
    asking = fill(text_of("classify", "evidence"), label=label)
    turns = (Message("assistant", said), Message("user", asking))
    return Request(
        prompt=Prompt((*prompt.messages, *turns), shared_messages=prompt.shared_messages),
        constraint=Constraint("json_schema", json_text(SCHEMA), text),
        max_tokens=MAX_CHARS,
    )


def evidence_of(result: Result, text: str) -> dict[str, Json]:
    """The words, and `[start, end)` in characters where the text has them first."""
    value = cast(dict[str, Json], json_of(completion_of(result)))
    return {"words": value["words"], "span": spans_of(value, SCHEMA, text)["/words"]}
