"""`POST /v1/completions`: text that goes on, without a chat template."""

from __future__ import annotations

from typing import Annotated, ClassVar

from fastapi import APIRouter
from fastapi import Request as HttpRequest
from fastapi.responses import Response
from pydantic import Field

from vedette.engine.options import MOST_TOP_LOGPROBS
from vedette.types import Prompt, Request

from .answer import answered
from .answer_replies import TextChunk, TextReply
from .facts import Facts
from .fields import AnswerFields
from .problems import Refusal
from .replies import streamed
from .shapes import TextShape


class CompletionBody(AnswerFields):
    """The body of a text completion."""

    prompt: str | list[str]
    logprobs: Annotated[int | None, Field(ge=0, le=MOST_TOP_LOGPROBS)] = None
    refused: ClassVar = {
        "suffix": (("",), "text is written at the end only"),
        "echo": ((False,), "an answer does not repeat its prompt"),
        "best_of": ((1,), "every answer is given; ask for n"),
    }

    def requests(self, facts: Facts) -> list[Request]:
        """`n` for each prompt, in the order of the choices. Raises `Refusal`."""
        adapters = facts.adapters(self.model, self.lora)
        prompts = [self.prompt] if isinstance(self.prompt, str) else self.prompt
        if not prompts:
            raise Refusal("prompt: there is none in the list", param="prompt")
        constraint = self.constraint()
        return [
            Request(
                prompt=Prompt(raw=prompt),
                constraint=constraint,
                max_tokens=facts.max_tokens(self.max_tokens),
                sampling=sampling,
                stop=self.stops,
                logprobs=self.logprobs is not None,
                top_logprobs=self.logprobs or 0,
                deadline_s=facts.deadline_s,
                adapters=adapters,
            )
            for prompt in prompts
            for sampling in self.samplings()
        ]


def completion_router(facts: Facts) -> APIRouter:
    """The route, over a server's backend."""
    router = APIRouter()

    @router.post("/v1/completions", response_model=TextReply, responses=streamed(TextChunk))
    async def complete(body: CompletionBody, http: HttpRequest) -> Response:
        """A text goes on."""
        requests = body.requests(facts)
        shape = TextShape(
            body.model,
            logprobs=body.logprobs is not None,
            includes_usage=body.includes_usage,
        )
        return await answered(
            http, facts.desk, requests, shape, is_streamed=body.stream, n_each=body.n or 1
        )

    return router
