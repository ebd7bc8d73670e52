"""`POST /v1/chat/completions`."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from fastapi import APIRouter
from fastapi import Request as HttpRequest
from fastapi.responses import Response
from pydantic import Field

from vedette.engine.options import MOST_TOP_LOGPROBS
from vedette.types import AdapterScales, Request

from .answer import answered
from .answer_replies import ChatChunk, ChatReply
from .chat_shape import ChatShape
from .facts import Facts
from .fields import AnswerFields
from .messages import NO_SOUND, ChatMessage, seen_talk
from .problems import Refusal
from .replies import streamed
from .tool_use import Plan, ToolUse, planned, tool_use

OLD_TOOLS = "it was replaced by tools and tool_choice"


class ChatBody(AnswerFields):
    """The body of a chat completion."""

    messages: Annotated[list[ChatMessage], Field(min_length=1)]
    max_completion_tokens: Annotated[int | None, Field(ge=1)] = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int | None, Field(ge=0, le=MOST_TOP_LOGPROBS)] = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    refused: ClassVar = {
        "functions": (([],), OLD_TOOLS),
        "function_call": (("none", "auto"), OLD_TOOLS),
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

    def check(self, facts: Facts) -> AdapterScales:
        """Under which adapters it is answered.

        Raises `Refusal` for a model that is not here, and for fields that do not go together.
        """
        adapters = facts.adapters(self.model, self.lora)
        if self.top_logprobs and not self.logprobs:
            raise Refusal("top_logprobs goes with logprobs", param="top_logprobs")
        if None not in (self.max_tokens, self.max_completion_tokens):
            raise Refusal("max_tokens and max_completion_tokens are the same: give one")
        return adapters

    def use(self) -> ToolUse | None:
        """The tools. Raises `Refusal`."""
        return tool_use(self.tools or (), self.tool_choice, parallel=bool(self.parallel_tool_calls))

    def requests(self, facts: Facts, plan: Plan, adapters: AdapterScales) -> list[Request]:
        """One for each of `n` answers. Raises `Refusal`.

        Form, stop strings and log-probabilities are for texts, and not for calls.
        """
        form, is_text = self.constraint(), plan.calls is None
        return [
            Request(
                prompt=plan.prompt,
                constraint=form if plan.calls is None else plan.calls.constraint,
                max_tokens=facts.max_tokens(self.max_completion_tokens or self.max_tokens),
                sampling=sampling,
                stop=self.stops if is_text else (),
                logprobs=bool(self.logprobs) and is_text,
                top_logprobs=(self.top_logprobs or 0) if is_text else 0,
                deadline_s=facts.deadline_s,
                adapters=adapters,
            )
            for sampling in self.samplings()
        ]


def chat_router(facts: Facts) -> APIRouter:
    """The route, over a server's backend."""
    router = APIRouter()

    @router.post("/v1/chat/completions", response_model=ChatReply, responses=streamed(ChatChunk))
    async def chat(body: ChatBody, http: HttpRequest) -> Response:
        """A chat goes on."""
        adapters = body.check(facts)
        use = body.use()
        talk = await seen_talk(body.messages, facts.pictures)
        plan = await planned(http, facts, talk.messages, use, adapters)
        requests = body.requests(facts, plan, adapters)
        shape = ChatShape(
            body.model,
            calls=plan.calls,
            is_streamed=bool(body.stream),
            logprobs=bool(body.logprobs) and plan.calls is None,
            includes_usage=body.includes_usage,
        )
        return await answered(
            http,
            facts.desk,
            requests,
            shape,
            is_streamed=body.stream,
            n_each=len(requests),
            beside=talk,
        )

    return router
