"""`POST /v1/chat/completions`."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from fastapi import APIRouter
from fastapi import Request as HttpRequest
from fastapi.responses import Response
from pydantic import Field

from vedette.types import Message, Prompt, Request

from .answer import answered
from .facts import Facts
from .fields import NO_BIAS, PENALTIES, AnswerFields, Body
from .problems import Refusal
from .replies import ChatChunk, ChatReply, streamed
from .shapes import ChatShape

NO_TOOLS = "this server calls no tools"
NO_SOUND = "this server reads and writes text"


class TextPart(Body):
    """A part of a message."""

    type: str
    text: str | None = None
    refused: ClassVar = dict.fromkeys(
        ("image_url", "input_audio", "file"), ((), "this server reads text only")
    )


class ChatMessage(Body):
    """A turn of a chat. What an assistant's turn has beside its text may be sent back empty."""

    role: Literal["system", "developer", "user", "assistant"]
    content: str | Annotated[list[TextPart], Field(min_length=1)]
    refused: ClassVar = {
        "name": ((), "chat templates know no names"),
        "tool_calls": (([],), NO_TOOLS),
        "function_call": ((), NO_TOOLS),
        "refusal": ((), "an answer has no refusal here"),
        "audio": ((), NO_SOUND),
        "annotations": (([],), "an answer has no annotations here"),
    }

    def message(self) -> Message:
        """As the backend takes it; parts are joined by line breaks."""
        role = "system" if self.role == "developer" else self.role
        if isinstance(self.content, str):
            return Message(role, self.content)
        return Message(role, "\n".join(_text_of(part) for part in self.content))


def _text_of(part: TextPart) -> str:
    if part.type != "text" or part.text is None:
        raise Refusal(
            f"a part of a message must be of type text and have a text, not {part.type!r}",
            param="messages",
        )
    return part.text


class ChatBody(AnswerFields):
    """The body of a chat completion."""

    messages: Annotated[list[ChatMessage], Field(min_length=1)]
    max_completion_tokens: Annotated[int | None, Field(ge=1)] = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    refused: ClassVar = {
        **PENALTIES,
        "logit_bias": NO_BIAS,
        "tools": (([],), f"{NO_TOOLS}; `vedette tool` does"),
        "tool_choice": (("none", "auto"), NO_TOOLS),
        "parallel_tool_calls": ((True, False), NO_TOOLS),
        "functions": (([],), NO_TOOLS),
        "function_call": (("none", "auto"), NO_TOOLS),
        "modalities": ((["text"],), NO_SOUND),
        "audio": ((), NO_SOUND),
        "prediction": ((), "the engine makes its guesses itself"),
        "reasoning_effort": ((), "thoughts have no effort here"),
        "verbosity": ((), "say it in the prompt"),
        "web_search_options": ((), "nothing is searched here"),
        "store": ((False,), "nothing is stored here"),
        "metadata": (({},), "nothing is stored here"),
        "service_tier": (("auto", "default"), "there is one tier"),
    }

    def requests(self, facts: Facts) -> list[Request]:
        """One for each of `n` answers. Raises `Refusal`."""
        facts.check_model(self.model)
        if self.top_logprobs and not self.logprobs:
            raise Refusal("top_logprobs goes with logprobs", param="top_logprobs")
        if self.top_logprobs:
            raise Refusal(
                "the engine tells the log-probability of the tokens of the answer, and not of "
                "others; leave top_logprobs out",
                code="unsupported_parameter",
                param="top_logprobs",
            )
        if self.logprobs and self.stream:
            raise Refusal(
                "logprobs come with whole answers; leave stream out",
                code="unsupported_parameter",
                param="logprobs",
            )
        if None not in (self.max_tokens, self.max_completion_tokens):
            raise Refusal("max_tokens and max_completion_tokens are the same: give one")
        prompt = Prompt(messages=tuple(message.message() for message in self.messages))
        return [
            Request(
                prompt=prompt,
                constraint=self.constraint(),
                max_tokens=facts.max_tokens(self.max_completion_tokens or self.max_tokens),
                sampling=sampling,
                stop=self.stops,
                logprobs=bool(self.logprobs),
                deadline_s=facts.deadline_s,
            )
            for sampling in self.samplings()
        ]


def chat_router(facts: Facts) -> APIRouter:
    """The route, over a server's backend."""
    router = APIRouter()

    @router.post("/v1/chat/completions", response_model=ChatReply, responses=streamed(ChatChunk))
    async def chat(body: ChatBody, http: HttpRequest) -> Response:
        """A chat goes on."""
        requests = body.requests(facts)
        shape = ChatShape(facts.model, is_streamed=bool(body.stream), logprobs=bool(body.logprobs))
        return await answered(http, facts.desk, body, requests, shape, n_each=len(requests))

    return router
