"""A label that the model writes, held to the list: where nothing can be scored."""

from __future__ import annotations

from collections.abc import Sequence

from vedette.backends.base import Result
from vedette.json_text import json_text
from vedette.types import Constraint, Json, Prompt, Request

from .reply import completion_of

ROUND_LABEL_TOKENS = 32  # a server may be asked for the label within an object


def label_request(prompt: Prompt, choices: Sequence[str]) -> Request:
    """Asks for one of these texts. Each token has at least a byte."""
    longest = max(len(choice.encode()) for choice in choices)
    constraint = Constraint("choice", json_text([*choices]))
    return Request(prompt=prompt, constraint=constraint, max_tokens=longest + ROUND_LABEL_TOKENS)


def label_value(results: Sequence[Result]) -> dict[str, Json]:
    """The value of a single label: `probability` is null, and `scored` false."""
    (result,) = results
    return {"label": completion_of(result).text, "probability": None, "scored": False}


def labels_value(names: Sequence[str], yes: str, results: Sequence[Result]) -> dict[str, Json]:
    """The value of several: the names of which the answer was `yes`."""
    said = (completion_of(result).text for result in results)
    chosen: list[Json] = [name for name, text in zip(names, said, strict=True) if text == yes]
    return {"labels": chosen, "probabilities": None, "scored": False}
