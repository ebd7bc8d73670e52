"""What `/v1/responses` answers with, as `/openapi.json` describes it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from .answer_replies import ChatToken
from .replies import Beside, CachedTokens, Reply


class TextOutput(Reply):
    """The text of a message."""

    type: Literal["output_text"]
    text: str
    annotations: list[Any]
    logprobs: list[ChatToken]


class MessageOutput(Reply):
    """A message of the model's."""

    type: Literal["message"]
    id: str
    role: Literal["assistant"]
    content: list[TextOutput]
    status: Literal["completed", "incomplete"]


class CallOutput(Reply):
    """A function that the model calls, and the JSON text of its arguments."""

    type: Literal["function_call"]
    id: str
    call_id: str
    name: str
    arguments: str
    status: Literal["completed"]


class NoThoughts(Reply):
    """Tokens of thoughts, of which there are none."""

    reasoning_tokens: Literal[0]


class ResponseUsage(Reply):
    """Tokens read and written."""

    input_tokens: int
    input_tokens_details: CachedTokens
    output_tokens: int
    output_tokens_details: NoThoughts
    total_tokens: int


class Incomplete(Reply):
    """What cut an answer."""

    reason: Literal["max_output_tokens"]


class NoReasoning(Reply):
    """As OpenAI's clients expect it."""

    effort: None
    summary: None


class ResponseReply(Reply):
    """A response. What follows `usage` repeats the request, or never changes."""

    id: str
    object: Literal["response"]
    created_at: int
    model: str
    status: Literal["completed", "incomplete"]
    error: None
    incomplete_details: Incomplete | None
    output: list[MessageOutput | CallOutput]
    usage: ResponseUsage
    instructions: str | None
    max_output_tokens: int | None
    metadata: dict[str, str]
    parallel_tool_calls: bool
    temperature: float
    text: dict[str, Any]
    tool_choice: str | dict[str, Any]
    tools: list[dict[str, Any]]
    top_logprobs: int
    top_p: float
    user: str | None
    background: Literal[False]
    previous_response_id: None
    reasoning: NoReasoning
    service_tier: Literal["default"]
    store: Literal[False]
    truncation: Literal["disabled"]
    vedette: Beside | None = None


class ResponseEvent(BaseModel):
    """An event, with what its type brings, as in OpenAI's API."""

    model_config = ConfigDict(extra="allow")
    type: str
    sequence_number: int


LAST = "The last one is `response.completed`, `response.incomplete` or `response.failed`."
