"""A llama-server as a backend: the model's own template and tokens, over its native endpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, overload

import httpx2

from vedette.backends.base import (
    Handle,
    Result,
    check_plain,
    check_tier,
    refuse_adapters,
)
from vedette.engine.constraint.checker import Checker
from vedette.engine.options import check_request
from vedette.engine.score import ChoiceTrie
from vedette.errors import (
    CapabilityMissing,
    InputError,
    InputTooLong,
    RequestRefused,
    SchemaError,
    ServerFailed,
    VedetteError,
)
from vedette.types import (
    AnyRequest,
    Capabilities,
    Completion,
    Embedding,
    EmbedRequest,
    Json,
    Request,
    Sampling,
    ScoreRequest,
    Scores,
)

from .answer_form import IN_PROCESS_HINT, AnswerForm, anchored, form_of
from .background import Background, Push
from .choice_grammar import choice_grammar
from .concurrency import AdaptiveLimit
from .held_answer import held_answer
from .http_client import HttpClient
from .label_scores import NextTokens, score
from .server_facts import ServerFacts
from .server_prompt import ServerPrompts
from .server_reply import CompletionReader, completion_of, next_tokens_of

COMPLETION = "/completion"
N_PROBS = 1000
"""Of the likeliest next tokens that scoring asks for; what is not among them is bounded."""

_SURELY = 1e4  # added to a logit: that token is sampled, and costs no text


class LlamaServerBackend:
    """Implements `Backend` on the llama-server at `url`.

    At most `width` requests are under way, or as many as it has slots. `identity` replaces what
    the server says of its model; `why_gone` knows why one of our own has ended. Raises
    `ServerError` if it does not answer, or not as a llama-server does.
    """

    def __init__(
        self,
        url: str,
        *,
        width: int = 8,
        timeout_s: float = 600,
        key: str = "",
        identity: dict[str, Json] | None = None,
        why_gone: Callable[[], VedetteError | None] = lambda: None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._background = Background("vedette-llama-server-client")
        # Latency is no sign here: slots share one machine, and each more makes all of them slower.
        limit = AdaptiveLimit(width, start=width, slow_factor=None)
        self._client = HttpClient(
            url,
            limit,
            server=f"the llama-server at {url}",
            timeout_s=timeout_s,
            key=key,
            why_gone=why_gone,
            transport=transport,
        )
        self._prompts = ServerPrompts(self._client)
        self._checker = Checker()
        self._repairs = self._bounded = 0
        try:
            self._facts = self._background.wait_for(ServerFacts.ask(self._client, self._prompts))
            self._can_score = self._background.wait_for(self._tells_probabilities())
        except BaseException:
            self.close()
            raise
        self._identity = identity or self._facts.identity
        self._width = min(width, self._facts.n_slots)
        limit.bound(self._width)

    @property
    def name(self) -> str:
        """The model's name as the server has it."""
        return self._facts.name

    @property
    def capabilities(self) -> Capabilities:
        """Completes, constrains, and scores where the build tells probabilities."""
        return Capabilities(
            can_constrain=True,
            can_score=self._can_score,
            context_tokens=self._facts.context_tokens,
        )

    @property
    def identity(self) -> dict[str, Json]:
        """What the server says of its model file and template, but not where it is."""
        return dict(self._identity)

    @property
    def width(self) -> int:
        """Requests worth having under way: its slots, and a few to fill the next free one."""
        return self._width + max(2, self._width // 4)

    @property
    def counts(self) -> Mapping[str, int]:
        """Requests sent again, answers asked for again, and scores that are upper bounds."""
        return {
            "resent_requests": self._client.resent,
            "repaired_answers": self._repairs,
            "bounded_scores": self._bounded,
        }

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
        if isinstance(request, ScoreRequest):
            self._check_scoring()
            scoring = partial(self._score, request)
            return self._background.start(scoring, request.deadline_s)
        if isinstance(request, EmbedRequest):
            raise _no_embedding()
        form = self._form(request)
        answering = partial(self._answer, request, form)
        return self._background.start(answering, request.deadline_s)

    def check(self, request: AnyRequest) -> None:
        """See `Backend.check`: the server looks at the constraint too."""
        refuse_adapters(request)
        if isinstance(request, ScoreRequest):
            self._check_scoring()
            self._background.wait_for(self._trie(request))
            return
        if isinstance(request, EmbedRequest):
            raise _no_embedding()
        form = self._form(request)
        if form is not None:
            body = {"prompt": [*self._facts.any_prompt], "n_predict": 0, **_held(form)}
            self._background.wait_for(self._taken(form, body))

    def show_prompt(self, request: AnyRequest) -> str:
        """The prompt as the server's template renders it."""
        return self._background.wait_for(self._prompts.text(request.prompt))

    def count_tokens(self, text: str) -> int:
        """Tokens of a text, by the server's tokenizer."""
        return len(self._background.wait_for(self._prompts.plain_ids(text)))

    def close(self) -> None:
        """Cancel what is under way and close the connections; the server goes on."""
        self._background.close(self._client.close())

    def _form(self, request: Request) -> AnswerForm | None:
        check_request(request)
        check_plain(request.prompt)
        usual = Sampling()
        for name in ("presence_penalty", "frequency_penalty", "logit_bias"):
            # It counts the prompt's tokens too, and a window of them.
            if getattr(request.sampling, name) != getattr(usual, name):
                raise CapabilityMissing(f"this backend has no {name}", hint=IN_PROCESS_HINT)
        if request.top_logprobs:
            raise CapabilityMissing(
                "this backend tells log-probabilities of the answer's own tokens only",
                hint=IN_PROCESS_HINT,
            )
        if request.think != "off":
            raise CapabilityMissing(
                "this backend does not have a model think first", hint=IN_PROCESS_HINT
            )
        return form_of(request.constraint, self._checker) if request.constraint else None

    def _check_scoring(self) -> None:
        if not self._can_score:
            raise CapabilityMissing(
                "this llama-server tells no probabilities of tokens, so it cannot score choices",
                hint="use a newer build, or --backend local",
            )

    async def _answer(self, request: Request, form: AnswerForm | None, push: Push) -> Completion:
        if form is None:
            body = await self._body(request, is_streamed=True)
            reader = partial(CompletionReader, push)
            return (await self._client.stream(COMPLETION, body, reader)).completion()
        held = await held_answer(request, form, partial(self._held, form), is_wrapped=False)
        self._repairs += held.n_repairs
        push(held.completion.text)
        return held.completion

    async def _held(self, form: AnswerForm, request: Request) -> Completion:
        body = {**await self._body(request), **_held(form)}
        return completion_of(await self._taken(form, body))

    async def _taken(self, form: AnswerForm, body: dict[str, Any]) -> dict[str, Any]:
        """The reply to a request under a constraint; its refusal is about the constraint."""
        try:
            return await self._client.generate(COMPLETION, body, _n_predicted)
        except RequestRefused as error:
            kind = form.constraint.kind
            refusal = SchemaError if kind == "json_schema" else InputError
            raise refusal(
                f"the llama-server does not take this {kind}: {error.message}",
                hint="simplify it, or use --backend local",
            ) from error

    async def _body(self, request: Request, *, is_streamed: bool = False) -> dict[str, Any]:
        """What `/completion` is given. Raises `InputTooLong` where it has no room for it."""
        ids = await self._prompts.ids(request.prompt)
        if request.prompt.raw == "" or not ids:
            raise InputError("the prompt is empty", hint="give it at least one character")
        self._check_room(len(ids), request.max_tokens)
        how = request.sampling
        return {
            "prompt": ids,
            "n_predict": request.max_tokens,
            "temperature": how.temperature,
            "top_k": how.top_k,
            "top_p": how.top_p,
            "min_p": how.min_p,
            "repeat_penalty": how.repeat_penalty,
            "repeat_last_n": how.repeat_last_tokens,
            "seed": how.seed,
            "stop": [*request.stop],
            "cache_prompt": True,
            "stream": is_streamed,
            **({"n_probs": 2} if request.logprobs else {}),
        }

    def _check_room(self, n_prompt: int, n_answer: int) -> None:
        room = self._facts.context_tokens
        if n_prompt + n_answer > room:
            raise InputTooLong(
                f"the prompt has {n_prompt} tokens and the answer up to {n_answer}; "
                f"the server has room for {room}",
                hint="shorten the text, or start the server with more context",
            )

    async def _trie(self, request: ScoreRequest) -> ChoiceTrie:
        paths = [await self._prompts.plain_ids(choice) for choice in request.choices]
        return ChoiceTrie(request.choices, tuple(paths))

    async def _score(self, request: ScoreRequest, push: Push) -> Scores:
        trie = await self._trie(request)
        ids = await self._prompts.ids(request.prompt)
        self._check_room(len(ids), max(map(len, trie.paths)))
        done = await score(ids, trie, self._next_tokens)
        self._bounded += done.n_bounded
        return done.scores

    async def _next_tokens(self, ids: Sequence[int]) -> NextTokens:
        """The probabilities after these tokens.

        The end of the answer is what is sampled, so that there is no text (of which half a
        character would be an error) and its own probability is told too.
        """
        body = {
            "prompt": [*ids],
            "n_predict": 1,
            "temperature": 0,
            "n_probs": N_PROBS,
            "logit_bias": [[self._facts.end_token, _SURELY]],
            "cache_prompt": True,
        }
        reply = await self._client.generate(COMPLETION, body, _n_predicted)
        found = next_tokens_of(reply)
        if found is None:
            raise ServerFailed("the llama-server told no probabilities")
        return found

    async def _tells_probabilities(self) -> bool:
        """Whether this build tells the probabilities of next tokens."""
        try:
            await self._next_tokens(self._facts.any_prompt)
        except VedetteError as error:
            if isinstance(error, ServerFailed | RequestRefused):
                return False
            raise
        return True


def _held(form: AnswerForm) -> dict[str, Any]:
    """The part of a request that holds its answer to a form."""
    source = form.constraint.source
    if form.constraint.kind == "gbnf":
        return {"grammar": source}
    if form.constraint.kind == "choice" and form.schema is not None:
        return {"grammar": choice_grammar(tuple(form.schema["enum"]))}
    return {"json_schema": anchored(form.schema)}


def _n_predicted(reply: dict[str, Any]) -> int:
    n_tokens = reply.get("tokens_predicted")
    return n_tokens if isinstance(n_tokens, int) else 1


def _no_embedding() -> CapabilityMissing:
    return CapabilityMissing(
        "a llama-server does not tell all the logits that texts are placed by", hint=IN_PROCESS_HINT
    )
