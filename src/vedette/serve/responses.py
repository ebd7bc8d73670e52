"""`POST /v1/responses`, without a memory: what is to be known comes with each request."""

from __future__ import annotations

import secrets
from typing import Annotated, Any, ClassVar

from fastapi import APIRouter
from fastapi import Request as HttpRequest
from fastapi.responses import Response
from pydantic import Field

from vedette.engine.options import MOST_TOP_LOGPROBS
from vedette.types import AdapterScales, Constraint, Json, Request, Sampling

from .answer import answered
from .body import Body
from .facts import Facts
from .forms import ANY_OBJECT, schema_constraint
from .problems import Refusal
from .replies import streamed
from .response_items import seen_items
from .response_replies import LAST, ResponseEvent, ResponseReply
from .response_shape import ResponseShape
from .tool_use import Plan, ToolUse, planned, tool_use

LOGPROBS = "message.output_text.logprobs"
INCLUDED = (LOGPROBS, "reasoning.encrypted_content")
"""The second is of thoughts, of which an answer has none here: nothing is left out without it."""

NOTHING_KEPT = "nothing is kept here: send the whole conversation as input"


class TextFormat(Body):
    """What the text of an answer must be."""

    type: str
    name: str = ""
    description: str | None = None
    schema_: Annotated[dict[str, Any] | None, Field(alias="schema")] = None
    strict: bool | None = None

    def constraint(self) -> Constraint | None:
        """As a constraint. Raises `Refusal`."""
        if (self.type == "json_schema") != (self.schema_ is not None):
            raise Refusal("schema goes with type json_schema", param="text.format")
        if self.schema_ is not None:
            return schema_constraint(self.schema_)
        if self.type == "json_object":
            return schema_constraint(ANY_OBJECT)
        if self.type == "text":
            return None
        raise Refusal(
            f"text.format.type must be text, json_object or json_schema, not {self.type!r}",
            param="text.format.type",
        )


class TextOptions(Body):
    """How the text of an answer is written."""

    format: TextFormat | None = None
    refused: ClassVar = {"verbosity": (("medium",), "say it in the instructions")}


class ResponseStreamOptions(Body):
    """How a stream is sent."""

    refused: ClassVar = {"include_obfuscation": ((False,), "nothing is obfuscated here")}


class ResponseBody(Body):
    """The body of a response."""

    model: str
    input: str | list[dict[str, Any]]
    instructions: str | None = None
    max_output_tokens: Annotated[int | None, Field(ge=1)] = None
    temperature: Annotated[float | None, Field(ge=0, le=2)] = None
    top_p: Annotated[float | None, Field(gt=0, le=1)] = None
    top_logprobs: Annotated[int | None, Field(ge=0, le=MOST_TOP_LOGPROBS)] = None
    include: list[str] | None = None
    text: TextOptions | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    stream: bool | None = None
    stream_options: ResponseStreamOptions | None = None
    metadata: dict[str, str] | None = None
    user: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    refused: ClassVar = {
        "store": ((False,), "nothing is stored here; leave it out, or say false"),
        "previous_response_id": ((), NOTHING_KEPT),
        "conversation": ((), NOTHING_KEPT),
        "prompt": ((), NOTHING_KEPT),
        "background": ((False,), "an answer is given while the connection is open"),
        "truncation": (("disabled",), "no input is cut here"),
        "context_management": (([],), "no input is cut here"),
        "reasoning": (({},), "thoughts have no effort here"),
        "max_tool_calls": ((), "there are no tools here that the server calls"),
        "moderation": ((), "nothing is moderated here"),
        "service_tier": (("auto", "default"), "there is one tier"),
        "prompt_cache_retention": ((), "the cache keeps what it has room for"),
        "prompt_cache_options": (({},), "the cache keeps what it has room for"),
    }

    def check(self, facts: Facts) -> AdapterScales:
        """The adapters under which the model answers.

        Raises `Refusal` for fields that do not go together, or ask for what there is not.
        """
        adapters = facts.adapters(self.model, None)
        unknown = next((name for name in self.include or () if name not in INCLUDED), None)
        if unknown is not None:
            raise Refusal(f"include: there is no {unknown} here", param="include")
        if self.top_logprobs and not self.tells_logprobs:
            raise Refusal(f"top_logprobs goes with include {LOGPROBS}", param="top_logprobs")
        if self.stream_options is not None and not self.stream:
            raise Refusal("stream_options goes with stream", param="stream_options")
        return adapters

    @property
    def tells_logprobs(self) -> bool:
        """Whether log-probabilities are asked for."""
        return LOGPROBS in (self.include or ())

    def constraint(self) -> Constraint | None:
        """What a text is held to. Raises `Refusal`."""
        return self.text.format.constraint() if self.text and self.text.format else None

    def use(self) -> ToolUse | None:
        """The tools. Raises `Refusal`."""
        definitions = [_as_in_chats(tool) for tool in self.tools or ()]
        choice = self.tool_choice
        if isinstance(choice, dict) and choice.get("type") == "function":
            choice = {"type": "function", "function": {"name": choice.get("name")}}
        return tool_use(definitions, choice, parallel=bool(self.parallel_tool_calls))

    def request(self, facts: Facts, plan: Plan, adapters: AdapterScales) -> Request:
        """As the backend takes it. Form and log-probabilities are for texts, and not for calls."""
        form, is_text = self.constraint(), plan.calls is None
        given = {
            name: value
            for name in ("temperature", "top_p")
            if (value := getattr(self, name)) is not None
        }
        return Request(
            prompt=plan.prompt,
            constraint=form if plan.calls is None else plan.calls.constraint,
            max_tokens=facts.max_tokens(self.max_output_tokens),
            sampling=Sampling(**given, seed=secrets.randbits(31)),
            logprobs=self.tells_logprobs and is_text,
            top_logprobs=(self.top_logprobs or 0) if is_text else 0,
            deadline_s=facts.deadline_s,
            adapters=adapters,
        )

    @property
    def echo(self) -> dict[str, Json]:
        """What a response repeats of its request."""
        usual = Sampling()
        form = self.text.format if self.text and self.text.format else TextFormat(type="text")
        return {
            "instructions": self.instructions,
            "max_output_tokens": self.max_output_tokens,
            "metadata": {**(self.metadata or {})},
            "parallel_tool_calls": bool(self.parallel_tool_calls),
            "temperature": usual.temperature if self.temperature is None else self.temperature,
            "text": {"format": form.model_dump(by_alias=True, exclude_unset=True)},
            "tool_choice": self.tool_choice or "auto",
            "tools": [*(self.tools or ())],
            "top_logprobs": self.top_logprobs or 0,
            "top_p": usual.top_p if self.top_p is None else self.top_p,
            "user": self.user,
        }


def _as_in_chats(tool: dict[str, Any]) -> dict[str, Any]:
    """A definition in the form of chat completions; other types of tools stay as they are."""
    if tool.get("type") != "function":
        return tool
    function = {name: value for name, value in tool.items() if name != "type"}
    return {"type": "function", "function": function}


def response_router(facts: Facts) -> APIRouter:
    """The route, over a server's backend."""
    router = APIRouter()

    @router.post(
        "/v1/responses", response_model=ResponseReply, responses=streamed(ResponseEvent, LAST)
    )
    async def respond(body: ResponseBody, http: HttpRequest) -> Response:
        """A chat goes on, as OpenAI's newer API has it. Nothing is stored."""
        adapters = body.check(facts)
        use = body.use()
        talk = await seen_items(body.input, body.instructions, facts.pictures)
        plan = await planned(http, facts, talk.messages, use, adapters)
        shape = ResponseShape(
            body.model, body.echo, calls=plan.calls, tells_logprobs=body.tells_logprobs
        )
        requests = [body.request(facts, plan, adapters)]
        return await answered(
            http, facts.desk, requests, shape, is_streamed=body.stream, beside=talk
        )

    return router
