"""What the routes answer with, as `/openapi.json` describes it. Answers are held to it by tests."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from .problems import RETRY_AFTER_S


class Reply(BaseModel):
    """An object of which every field is described."""

    model_config = ConfigDict(extra="forbid")


class ErrorInfo(Reply):
    """What was wrong, where, and what to do."""

    message: str
    type: str
    param: str | None
    code: str | None


class ErrorReply(Reply):
    """Every error has this form."""

    error: ErrorInfo


class State(Reply):
    """All is well."""

    status: Literal["ok"]


class ModelMeta(Reply):
    """What is behind the name, and its room for prompt and answer together, in tokens."""

    name: str
    n_ctx: int


class ModelReply(Reply):
    """A model that can be asked; `parent` is what it is without its adapter.

    A route of the gateway has no `meta`: another model answers each time.
    """

    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    meta: ModelMeta | None = None
    parent: str | None = None


class ModelList(Reply):
    """All models, twice: clients of System One look for `models`."""

    object: Literal["list"]
    data: list[ModelReply]
    models: list[ModelReply]


class PictureTold(Reply):
    """What became of a picture: it was shown to the model, or its text was read off it.

    `text` is what the model was given then, and `confidence` the reader's own, from 0 to 1.
    """

    sha256: str
    read_by: Literal["projector", "ocr"]
    lines: int | None = None
    confidence: float | None = None
    text: str | None = None
    unsure_lines: int | None = None


class Beside(Reply):
    """What an answer says beside what OpenAI's does, where the request has pictures."""

    pictures: list[PictureTold]


class CachedTokens(Reply):
    """The part of a prompt that was in the cache."""

    cached_tokens: int


class AnswerUsage(Reply):
    """Tokens read and written."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: CachedTokens


class EmbeddingReply(Reply):
    """The vector of one text: numbers, or base64 of them as 32-bit floats."""

    object: Literal["embedding"]
    index: int
    embedding: list[float] | str


class EmbeddingUsage(Reply):
    """Tokens read."""

    prompt_tokens: int
    total_tokens: int


class EmbeddingList(Reply):
    """The vectors of all texts, in order."""

    object: Literal["list"]
    data: list[EmbeddingReply]
    model: str
    usage: EmbeddingUsage


class TokenPiece(Reply):
    """A token and its text; of a part of a character, its bytes."""

    id: int
    piece: str | list[int]


class TokenList(Reply):
    """The tokens of a text."""

    tokens: list[int] | list[TokenPiece]


class ContentReply(Reply):
    """The text of tokens."""

    content: str


class PromptReply(Reply):
    """A chat as the model reads it."""

    prompt: str


class AdapterReply(Reply):
    """An adapter: its scale in requests that say none, and the model that stands for it."""

    id: int
    name: str
    path: str
    scale: float
    model: str
    rank: int
    alpha: float
    task_name: str
    prompt_prefix: str


class Done(Reply):
    """It was done."""

    success: Literal[True]


class AdapterGone(Reply):
    """An adapter was taken away; so many requests have it to their end."""

    name: str
    deleted: Literal[True]
    requests_under_way: int


ERRORS: dict[int | str, dict[str, Any]] = {
    "4XX": {
        "model": ErrorReply,
        "description": (
            "The request is at fault, or comes at the wrong time. 429 and 503 say in Retry-After, "
            f"in seconds, when to come again; {RETRY_AFTER_S} where nothing better is known."
        ),
    },
    "5XX": {
        "model": ErrorReply,
        "description": (
            "There is no answer. With `x-should-retry: false` another try would end the same."
        ),
    },
}
"""What every route can answer with too."""


DONE_LAST = "The last one's data is `[DONE]`, or an error where the answer broke off."


def streamed(event: type[BaseModel], last: str = DONE_LAST) -> dict[int | str, dict[str, Any]]:
    """For the `responses` of a route that can also stream its answer: what an event holds.

    `last` says how a stream ends.
    """
    return {
        200: {
            "description": "The answer; with `stream`, its pieces as server-sent events.",
            "content": {
                "text/event-stream": {
                    "schema": {"type": "string"},
                    "itemSchema": {
                        "type": "object",
                        "description": f"An event. {last}",
                        "properties": {
                            "data": {
                                "type": "string",
                                "contentMediaType": "application/json",
                                "contentSchema": _without_references(event),
                            }
                        },
                        "required": ["data"],
                    },
                }
            },
        }
    }


def _without_references(event: type[BaseModel]) -> Any:
    """The JSON Schema of a model that does not contain itself, in one piece."""
    schema = event.model_json_schema(mode="serialization")
    parts = schema.pop("$defs", {})

    def inlined(node: Any) -> Any:
        if isinstance(node, list):
            return [inlined(one) for one in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return inlined(parts[node["$ref"].removeprefix("#/$defs/")])
        return {name: inlined(value) for name, value in node.items()}

    return inlined(schema)
