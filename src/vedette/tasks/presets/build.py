"""The presets as tasks: sentiment, triage, metadata, free tags."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from vedette.decide.question import Option, Question, parse_questions
from vedette.errors import InputError, LabelError
from vedette.tasks.classify import Classify
from vedette.tasks.decide import Decide
from vedette.tasks.extract import Example, Extract
from vedette.tasks.label_prompt import LabelledText
from vedette.tasks.labels import Label, check_labels
from vedette.types import Json

from .data import load_preset
from .listed_tags import ListedTags

MOST_TAGS = 5
TAG_CHARACTERS = 30
TAG_THRESHOLD = 0.5
ANGRY = "angry"


def sentiment(*, prior: str = "stream") -> Classify:
    """Positive, negative or neutral, with probabilities. `prior`: see `Classify`."""
    data = load_preset("sentiment")
    return Classify(
        labels=tuple(Label(name, meaning) for name, meaning in data["labels"].items()),
        examples=tuple(LabelledText(one["text"], (one["label"],)) for one in data["examples"]),
        instructions=data["instructions"],
        prior=prior,
    )


def triage(categories: tuple[Label, ...] = (), teams: tuple[Label, ...] = ()) -> Decide:
    """Category, urgency, anger and team of a ticket, asked together about one reading of it.

    `categories` and `teams` take the place of the preset's own. Raises `LabelError` for lists that
    cannot be used.
    """
    given = {"category": categories, "team": teams}
    asked = parse_questions(load_preset("triage")["questions"])
    return Decide(questions=tuple(_own(one, given.get(one.id, ())) for one in asked))


def _own(question: Question, labels: tuple[Label, ...]) -> Question:
    """The question with options of the user's own; `angry` answered as yes or no."""
    if question.id == ANGRY:
        return replace(question, kind="noul")
    if not labels:
        return question
    options = tuple(Option(one.name, one.description) for one in check_labels(labels))
    if len(options) < 2:
        raise LabelError(
            f"{options[0].name!r} alone leaves nothing to decide", hint="name two labels or more"
        )
    return replace(question, options=options)


def metadata() -> Extract:
    """Title, authors, date, language, kind and topics of a document."""
    data = load_preset("metadata")
    # TOML has no null: what an example leaves out is null.
    unstated: dict[str, Json] = dict.fromkeys(data["schema"]["required"])
    examples = (Example(one["text"], {**unstated, **one["value"]}) for one in data["examples"])
    return Extract(data["schema"], tuple(examples), data["instructions"])


def free_tags(most: int = MOST_TAGS) -> Extract:
    """Up to `most` tags in the text's own words, as `{"tags": [...]}`. Raises `InputError`."""
    if most < 1:
        raise InputError(f"most is {most}; it must be at least 1")
    data = load_preset("tag")
    examples = (Example(one["text"], {"tags": one["tags"][:most]}) for one in data["examples"])
    return Extract(_tags_schema(most), tuple(examples), data["instructions"])


def _tags_schema(most: int) -> dict[str, Any]:
    tag = {"type": "string", "minLength": 1, "maxLength": TAG_CHARACTERS}
    tags = {"type": "array", "items": tag, "minItems": 1, "maxItems": most, "uniqueItems": True}
    return {
        "type": "object",
        "properties": {"tags": tags},
        "required": ["tags"],
        "additionalProperties": False,
    }


def listed_tags(
    labels: tuple[Label, ...], *, most: int | None = None, threshold: float | None = None
) -> ListedTags:
    """Which tags of a list apply, with the probability of each. `threshold`: `TAG_THRESHOLD`."""
    return ListedTags(labels, TAG_THRESHOLD if threshold is None else threshold, most)
