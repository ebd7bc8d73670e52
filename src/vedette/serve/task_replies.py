"""What the routes of tasks answer with, as `/openapi.json` describes it; see `replies`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from .replies import ErrorReply, Reply


class RankedDocument(Reply):
    """A document as it was given."""

    text: str


class RankedResult(Reply):
    """A document's place among those that were given, from 0, and how well it answers."""

    index: int
    relevance_score: float
    document: RankedDocument | None = None


class RankingUsage(Reply):
    """Tokens read."""

    prompt_tokens: int
    total_tokens: int


class RankingReply(Reply):
    """The documents, best first."""

    model: str
    object: Literal["list"]
    results: list[RankedResult]
    usage: RankingUsage


class ChoiceAnswer(Reply):
    """One of several options."""

    type: Literal["choice"]
    choice: str
    probabilities: dict[str, float]
    confidence: float


class ScoreAnswer(Reply):
    """A place on ordered levels, from 0; `legend` names them."""

    type: Literal["score"]
    score: float
    legend: dict[str, str]
    probabilities: dict[str, float]
    confidence: float


class NoulAnswer(Reply):
    """How likely a yes is."""

    type: Literal["noul"]
    noul: float


class SystemOneUsage(Reply):
    """Tokens read; nothing is written."""

    input_tokens: int
    output_tokens: Literal[0]


class OwnAnswers(Reply):
    """What vedette has beside the protocol, by question."""

    answers: dict[str, dict[str, Any]]


class SystemOneReply(Reply):
    """The answer to each question; `vedette` is there where the request had it."""

    model: str
    answers: dict[str, ChoiceAnswer | ScoreAnswer | NoulAnswer]
    usage: SystemOneUsage
    vedette: OwnAnswers | None = None


class SystemOneErrorInfo(Reply):
    """What is wrong; `code` is the status."""

    code: int
    message: str
    type: str


class SystemOneError(Reply):
    """An error as the System One protocol has it."""

    error: SystemOneErrorInfo


SYSTEM_ONE_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {
        "model": SystemOneError | ErrorReply,
        "description": "In the protocol's form; what the door turns away, in OpenAI's.",
    }
    for status in ("4XX", "5XX")
}
MEANING: dict[str, Any] = {"type": ["string", "object", "null"]}


def _question(kind: str, criteria: dict[str, Any], *needed: str) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["type", *needed],
        "additionalProperties": False,
        "properties": {"type": {"const": kind}, "instructions": {}, "criteria": criteria},
    }


_QUESTIONS: dict[str, Any] = {
    "description": "The questions, by id.",
    "type": "object",
    "minProperties": 1,
    "propertyNames": {"minLength": 1},
    "additionalProperties": {
        "anyOf": [
            _question(
                "choice",
                {"type": "object", "minProperties": 1, "additionalProperties": MEANING},
                "criteria",
            ),
            _question("score", {"type": "array", "items": {"type": "string"}}, "criteria"),
            _question(
                "noul",
                {
                    "type": ["object", "null"],
                    "properties": {"true": MEANING, "false": MEANING},
                    "additionalProperties": False,
                },
            ),
        ]
    },
}
_BODY: dict[str, Any] = {
    "type": "object",
    "required": ["state", "questions"],
    "additionalProperties": False,
    "properties": {
        "model": {"type": ["string", "null"]},
        "state": {
            "description": "What the questions are about: a text, a chat, any JSON.",
            "type": ["string", "object", "array"],
        },
        "questions": _QUESTIONS,
        "images": {"enum": [None, []]},
        "videos": {"enum": [None, []]},
        "files": {"enum": [None, []]},
        "stream": {"enum": [None, False]},
        "vedette": {
            "description": "Options of `decide`; with them the answer has more.",
            "type": ["object", "null"],
        },
    },
}
SYSTEM_ONE_BODY: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"application/json": {"schema": _BODY}}}
}
"""For `openapi_extra`: the body is read by the protocol's own rules, and FastAPI knows none."""


class TaskEntry(Reply):
    """A task: JSON Schemas of its inputs and of its options.

    Where an extra is not installed, `unavailable` says which in place of `options`.
    """

    id: str
    object: Literal["task"]
    description: str
    input: dict[str, Any]
    options: dict[str, Any] | None = None
    unavailable: str | None = None


class TaskList(Reply):
    """All tasks."""

    object: Literal["list"]
    data: list[TaskEntry]


class TaskUsage(Reply):
    """Tokens of one input, read and written."""

    prompt_tokens: int
    completion_tokens: int
    forced_tokens: int


class TaskResult(BaseModel):
    """What came of one input. A task may add keys of its own."""

    model_config = ConfigDict(extra="allow")

    id: str
    ok: Literal[True]
    value: Any
    usage: TaskUsage


class RowError(Reply):
    """Why an input has no answer."""

    code: str
    message: str
    hint: str | None = None


class TaskFailure(Reply):
    """An input without an answer."""

    id: str
    ok: Literal[False]
    error: RowError


class TaskResults(Reply):
    """What came of each input, in order."""

    model: str
    results: list[TaskResult | TaskFailure]
