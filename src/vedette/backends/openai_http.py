"""Any server that speaks OpenAI's protocol, as a backend: chats, held to their form here."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, overload

import httpx2
import orjson

from vedette.backends.base import (
    Handle,
    Result,
    check_plain,
    check_tier,
    refuse_adapters,
)
from vedette.engine.constraint.checker import Checker
from vedette.engine.options import check_request
from vedette.errors import CapabilityMissing, InputError, InputTooLong, RequestRefused
from vedette.types import (
    AnyRequest,
    Capabilities,
    Completion,
    Embedding,
    EmbedRequest,
    Json,
    Message,
    Prompt,
    Request,
    Sampling,
    ScoreRequest,
    Scores,
)

from .answer_form import IN_PROCESS_HINT, AnswerForm, anchored, form_of
from .background import Background, Push
from .concurrency import AdaptiveLimit
from .held_answer import held_answer
from .http_client import HttpClient
from .openai_model import ServedModel, served_model
from .openai_reply import ChatReader, completion_of, n_tokens_of
from .openai_strict import is_strict

T = TypeVar("T")

CHAT = "/chat/completions"
BUDGET, THINKERS_BUDGET = "max_tokens", "max_completion_tokens"
BYTES_PER_TOKEN = 3
"""Prose has more bytes than this for each token, in English and in Chinese alike."""


class OpenAIBackend:
    """Implements `Backend` on the chat completions at `url`, which mostly ends in `/v1`.

    `model` None takes the one model that the server lists. `context_tokens` None takes what it
    tells of the model, else `openai_model.ASSUMED_TOKENS`. At most `width` requests are under
    way, fewer where that is too much for the server. Raises `ServerError` if it does not answer,
    `InputError` for a model that it does not have.
    """

    def __init__(
        self,
        url: str,
        model: str | None = None,
        *,
        key: str = "",
        width: int = 8,
        context_tokens: int | None = None,
        timeout_s: float = 600,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._url = url
        self._width = width
        self._background = Background("vedette-openai-client")
        self._client = HttpClient(
            url,
            AdaptiveLimit(width),
            server=f"the server at {url}",
            timeout_s=timeout_s,
            key=key,
            transport=transport,
        )
        self._checker = Checker()
        self._repairs = 0
        self._budget_name = BUDGET
        # For each constraint, the first of `_ways` that the server has not refused.
        self._ways_taken: dict[str, int] = {}
        try:
            self._model: ServedModel = self._background.wait_for(served_model(self._client, model))
        except BaseException:
            self.close()
            raise
        self._context_tokens = context_tokens or self._model.context_tokens

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    @property
    def capabilities(self) -> Capabilities:
        """Completes, and constrains by asking and checking. It cannot score."""
        return Capabilities(can_constrain=True, context_tokens=self._context_tokens)

    @property
    def identity(self) -> dict[str, Json]:
        """URL and model: what stands behind them can change unseen."""
        return {"server": "openai", "url": self._url, "model": self._model.name}

    @property
    def width(self) -> int:
        """Requests worth having under way."""
        return self._width

    @property
    def counts(self) -> Mapping[str, int]:
        """Requests sent again, and answers asked for again."""
        return {"resent_requests": self._client.resent, "repaired_answers": self._repairs}

    @overload
    def submit(self, request: Request) -> Handle[Completion]: ...
    @overload
    def submit(self, request: ScoreRequest) -> Handle[Scores]: ...
    @overload
    def submit(self, request: EmbedRequest) -> Handle[Embedding]: ...
    def submit(self, request: AnyRequest) -> Handle[Result]:
        """Queue a request; see `Backend.submit`."""
        check_tier(request)
        refuse_adapters(request)
        request, form = self._checked(request)
        self._check_room(request)
        return self._background.start(partial(self._answer, request, form), request.deadline_s)

    def check(self, request: AnyRequest) -> None:
        """See `Backend.check`; what the server thinks of it only an answer shows."""
        refuse_adapters(request)
        self._checked(request)

    def show_prompt(self, request: AnyRequest) -> str:
        """The messages as they are sent: what the model reads is the server's secret."""
        messages = _messages(request.prompt)
        return orjson.dumps(messages, option=orjson.OPT_INDENT_2).decode()

    def count_tokens(self, text: str) -> int:
        """An estimate from the bytes, high for prose: the protocol has no question for it."""
        return math.ceil(len(text.encode("utf-8", "surrogatepass")) / BYTES_PER_TOKEN)

    def close(self) -> None:
        """Cancel what is under way and close the connections."""
        self._background.close(self._client.close())

    def _checked(self, request: AnyRequest) -> tuple[Request, AnswerForm | None]:
        """The request and its form. Raises `CapabilityMissing` for what the protocol lacks."""
        if isinstance(request, ScoreRequest):
            raise _lacking("scores of choices")
        if isinstance(request, EmbedRequest):
            raise _lacking("logits to place a text by")
        check_request(request)
        if request.prompt.raw is not None or request.prompt.prefill:
            raise _lacking("raw prompts and the beginning of an answer")
        if not request.prompt.messages:
            raise InputError("the prompt has no message")
        check_plain(request.prompt)
        if request.think != "off":
            raise _lacking("thoughts of a bounded length")
        if request.logprobs:
            raise _lacking("the token ids that go with logprobs")
        usual = Sampling()
        for name in ("top_k", "min_p", "repeat_penalty", "repeat_last_tokens", "logit_bias"):
            if getattr(request.sampling, name) != getattr(usual, name):
                raise _lacking(f"the sampling option {name}")
        if request.constraint is None:
            return request, None
        if request.constraint.kind == "gbnf":
            raise _lacking("grammars")
        return request, form_of(request.constraint, self._checker)

    def _check_room(self, request: Request) -> None:
        n_prompt = sum(self.count_tokens(message.content) for message in request.prompt.messages)
        if n_prompt + request.max_tokens > self._context_tokens:
            raise InputTooLong(
                f"the prompt has about {n_prompt} tokens and the answer up to "
                f"{request.max_tokens}; {self._model.name} has room for {self._context_tokens}",
                hint="shorten the text; if the model has more room, set context_tokens",
            )

    async def _answer(self, request: Request, form: AnswerForm | None, push: Push) -> Completion:
        if form is None:
            reader = partial(ChatReader, push)
            read = await self._sent(
                request, lambda body: self._client.stream(CHAT, body, reader), **_STREAMED
            )
            return read.completion()
        held = await held_answer(request, form, partial(self._held, form), is_wrapped=True)
        self._repairs += held.n_repairs
        push(held.completion.text)
        return held.completion

    async def _held(self, form: AnswerForm, request: Request) -> Completion:
        """One try under a form, in the first way of asking for it that the server takes."""
        source = form.constraint.source
        ways = _ways(form)
        while (way := self._ways_taken.get(source, 0)) < len(ways):
            try:
                return await self._generated(request, response_format=ways[way])
            except RequestRefused as error:
                if not _is_about_form(error.message):
                    raise
                # not the next of what it is by now: others may have been refused meanwhile
                self._ways_taken[source] = max(self._ways_taken.get(source, 0), way + 1)
        return await self._generated(_told(request, form))

    async def _generated(self, request: Request, **more: Any) -> Completion:
        reply = await self._sent(
            request, lambda body: self._client.generate(CHAT, body, n_tokens_of), **more
        )
        return completion_of(reply)

    async def _sent(
        self, request: Request, send: Callable[[dict[str, Any]], Awaitable[T]], **more: Any
    ) -> T:
        """Send it. Models that think have another name for the most tokens of an answer."""
        name = self._budget_name
        try:
            return await send({**self._body(request), name: request.max_tokens, **more})
        except RequestRefused as error:
            if name == THINKERS_BUDGET or THINKERS_BUDGET not in error.message:
                raise
            self._budget_name = THINKERS_BUDGET
        return await send({**self._body(request), self._budget_name: request.max_tokens, **more})

    def _body(self, request: Request) -> dict[str, Any]:
        how = request.sampling
        body: dict[str, Any] = {
            "model": self._model.name,
            "messages": _messages(request.prompt),
            "temperature": how.temperature,
        }
        if how.temperature > 0:
            body |= {"top_p": how.top_p, "seed": how.seed}
        for name in ("presence_penalty", "frequency_penalty"):
            if penalty := getattr(how, name):
                body[name] = penalty
        if request.stop:
            body["stop"] = [*request.stop]
        return body


_STREAMED = {"stream": True, "stream_options": {"include_usage": True}}


def _messages(prompt: Prompt) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in prompt.messages]


def _ways(form: AnswerForm) -> list[dict[str, Any]]:
    """What `response_format` may be: the schema itself, or where some want an object, one."""
    bare, wrapped = anchored(form.schema), anchored(form.wrapped)
    return [_response_format(schema) for schema in ([bare] if form.is_object else [bare, wrapped])]


def _response_format(schema: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": is_strict(schema), "schema": schema},
    }


def _is_about_form(reason: str) -> bool:
    """Whether a server refuses `response_format` or the schema in it."""
    said = reason.lower()
    return any(word in said for word in ("response_format", "schema", "structured", "grammar"))


def _told(request: Request, form: AnswerForm) -> Request:
    """The request with its form in words, at the end of the last turn."""
    *before, last = request.prompt.messages
    if form.requirement in last.content:  # a repair has told it already
        return request
    told = Message(last.role, f"{last.content}\n\n{form.requirement}")
    return replace(request, prompt=replace(request.prompt, messages=(*before, told)))


def _lacking(what: str) -> CapabilityMissing:
    return CapabilityMissing(f"OpenAI's protocol has no {what}", hint=IN_PROCESS_HINT)
