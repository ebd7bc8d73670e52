"""What tasks, rankings and closed questions answer with, as `/openapi.json` describes it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from .replies import EmbeddingUsage, ErrorReply, Reply


class ResultUsage(Reply):
    """Tokens of one input."""

    prompt_tokens: int
    completion_tokens: int
    forced_tokens: int


class ResultError(Reply):
    """Why there is no answer, and what to do."""

    code: str
    message: str
    hint: str = ""


class ResultLine(BaseModel):
    """What came of one input, as in a batch job. Tasks have further keys."""

    model_config = ConfigDict(extra="allow")
    id: str
    ok: bool
    value: Any = None
    usage: ResultUsage | None = None
    error: ResultError | None = None


class ResultList(Reply):
    """What came of each input, in order."""

    model: str
    results: list[ResultLine]


class TaskEntry(Reply):
    """A task: JSON Schemas of an input and of the options, or why it cannot be asked for."""

    id: str
    object: Literal["task"]
    description: str
    input: dict[str, Any]
    options: Annotated[dict[str, Any], Field(default_factory=dict)]
    unavailable: str = ""


class TaskList(Reply):
    """All tasks."""

    object: Literal["list"]
    data: list[TaskEntry]


class RankedText(Reply):
    """A document."""

    text: str


class RankedDocument(Reply):
    """One place of a ranking."""

    index: int
    relevance_score: float
    document: RankedText | None = None


class Ranking(Reply):
    """Documents, the best first."""

    model: str
    object: Literal["list"]
    results: list[RankedDocument]
    usage: EmbeddingUsage


class ChoiceAnswer(Reply):
    """The likeliest option."""

    type: Literal["choice"]
    choice: str
    probabilities: dict[str, float]
    confidence: float


class ScoreAnswer(Reply):
    """The mean level, counted from 0."""

    type: Literal["score"]
    score: float
    legend: dict[str, str]
    probabilities: dict[str, float]
    confidence: float


class NoulAnswer(Reply):
    """The probability of yes."""

    type: Literal["noul"]
    noul: float


class SystemOneUsage(Reply):
    """Tokens read, the state once, and none written."""

    input_tokens: int
    output_tokens: Literal[0]


class OwnAnswers(Reply):
    """What the protocol does not have, by the id of the question."""

    answers: dict[str, dict[str, Any]]


class SystemOneReply(Reply):
    """An answer to each question, by its id and in order."""

    model: str
    answers: dict[str, ChoiceAnswer | ScoreAnswer | NoulAnswer]
    usage: SystemOneUsage
    vedette: OwnAnswers | None = None


class FaultInfo(Reply):
    """What was wrong."""

    code: int
    message: str
    type: str


class FaultReply(Reply):
    """An error of the System One protocol."""

    error: FaultInfo


FAULTS: dict[int | str, dict[str, Any]] = {
    status: {"model": FaultReply | ErrorReply, "description": description}
    for status, description in (
        ("4XX", "The request is at fault (422), too large (413), or one too many (429)."),
        ("5XX", "There is no answer."),
    )
}
"""What a route of System One can answer with too; of OpenAI's form what the door itself says."""

_TEXTUAL: dict[str, Any] = {
    "anyOf": [
        {"type": "string", "pattern": r"\S"},
        {"type": "object", "minProperties": 1},
        {"type": "array", "minItems": 1},
    ]
}
_MEANING: dict[str, Any] = {"type": ["string", "object", "null"]}


def _question(kind: str, criteria: dict[str, Any], *, needs: bool) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "type": {"const": kind},
            "instructions": _TEXTUAL,
            "criteria": criteria,
        },
        "required": ["type", "instructions", *(["criteria"] if needs else [])],
        "additionalProperties": False,
    }


_CHOICE = {
    "type": "object",
    "minProperties": 1,
    "maxProperties": 255,
    "propertyNames": {"pattern": r"\S"},
    "additionalProperties": _MEANING,
}
_SCORE = {
    "type": "array",
    "minItems": 2,
    "maxItems": 10,
    "uniqueItems": True,
    "items": {"type": "string", "pattern": r"\S"},
}
_NOUL = {
    "type": ["object", "null"],
    "properties": {"true": _MEANING, "false": _MEANING},
    "additionalProperties": False,
}


def systemone_body(own_options: dict[str, Any]) -> dict[str, Any]:
    """The request body of System One; `own_options` is the schema of `vedette`."""
    schema = {
        "type": "object",
        "properties": {
            "model": {"type": ["string", "null"]},
            "state": {"type": ["string", "object", "array"]},
            "questions": {
                "type": "object",
                "minProperties": 1,
                "maxProperties": 4096,
                "propertyNames": {"minLength": 1},
                "additionalProperties": {
                    "anyOf": [
                        _question("choice", _CHOICE, needs=True),
                        _question("score", _SCORE, needs=True),
                        _question("noul", _NOUL, needs=False),
                    ]
                },
            },
            **{
                name: {"type": ["array", "null"], "maxItems": 0}
                for name in ("images", "videos", "files")
            },
            "stream": {"enum": [None, False]},
            "vedette": own_options,
        },
        "required": ["state", "questions"],
        "additionalProperties": False,
    }
    content = {"application/json": {"schema": schema}}
    return {"requestBody": {"required": True, "content": content}}
