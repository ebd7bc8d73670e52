"""`POST /v1/systemone`: closed questions about a state, answered by any chat model's scores.

The contract is that of the System One protocol as llama.cpp's server has it; decision models answer
it there, and here every model that can score.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

import orjson
from fastapi import APIRouter
from fastapi import Request as HttpRequest
from fastapi.responses import JSONResponse

from vedette.backends.base import Backend
from vedette.backends.local import LocalBackend
from vedette.decide.confidence import entropy_confidence
from vedette.errors import CapabilityMissing, VedetteError
from vedette.tasks.decide import Decide
from vedette.tasks.decide_answer import shares_of
from vedette.types import Item, Json, ScoreRequest

from .errands import Errands
from .facts import Facts
from .problems import Refusal
from .systemone_problems import Fault, fault_of
from .systemone_request import EXTENSION, SystemOne, parse
from .task_replies import SYSTEM_ONE_BODY, SYSTEM_ONE_ERRORS, SystemOneReply
from .verbs.options import Options

PATHS = ("/v1/systemone", "/v1/decisions", "/api/alpha/decisions")
MOST_PROMPT_TOKENS = 65_536
MOST_TASKS = 64
"""Sets of questions that are kept, with what the model prefers of each before it reads anything."""

DIGITS = 8
"""So that the probabilities of 255 options still sum to 1 within 1e-4."""

_OWN = ("margin", "mass", "keep", "explain")  # what the protocol does not have


def systemone_router(facts: Facts, errands: Errands) -> APIRouter:
    """The routes, over a server's backend."""
    router = APIRouter()
    options = Options(Decide, hidden=frozenset({"questions", "digits"}))

    @lru_cache(maxsize=MOST_TASKS)
    def asking(questions: tuple[Any, ...], given: bytes) -> Decide:
        read = options.read(orjson.loads(given), beside=("confidence",))
        return Decide(questions, digits=DIGITS, **read)

    async def answered(http: HttpRequest) -> JSONResponse:
        if not _is_json(http.headers.get("content-type", "")):
            raise Fault(400, "the body must be JSON, with Content-Type: application/json")
        asked = await asyncio.to_thread(parse, await http.body())
        if not facts.backend.capabilities.can_score:
            raise CapabilityMissing(f"{facts.model} cannot score answers here")
        # Any other name means the one model, by the contract.
        model = asked.model if asked.model in facts.personas.models else facts.model
        adapters = facts.adapters(model, None)
        task = asking(asked.questions, orjson.dumps(asked.options or {}))
        requests = task.requests(asked.state)
        n_tokens = await asyncio.to_thread(_input_tokens, facts.backend, requests)
        (outcome,) = await errands.outcomes(
            http,
            task,
            [Item(id="1", text=asked.state)],
            n_places=len(requests),
            adapters=adapters,
        )
        if isinstance(outcome, VedetteError):
            raise outcome
        answers = cast(dict[str, Any], outcome.value)["answers"]
        return JSONResponse(_said(model, asked, answers, n_tokens))

    async def systemone(http: HttpRequest) -> JSONResponse:
        """Closed questions about a state, answered by scores."""
        try:
            return await answered(http)
        except Fault as fault:
            return fault.response
        except (VedetteError, Refusal) as error:
            return fault_of(error).response

    for path in PATHS:
        router.post(
            path,
            response_model=SystemOneReply,
            responses=SYSTEM_ONE_ERRORS,
            openapi_extra=SYSTEM_ONE_BODY,
        )(systemone)
    return router


def _is_json(content_type: str) -> bool:
    """Whether a client says so. No web page can without asking first, so none asks unasked."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind == "application/json" or (
        kind.startswith("application/") and kind.endswith("+json")
    )


def _input_tokens(backend: Backend, requests: Sequence[ScoreRequest]) -> int:
    """Tokens of all prompts, what they share counted once. Raises `Fault` for too many."""
    counts = [_tokens(backend, request) for request in requests]
    longest = max(n for n, _ in counts)
    room = backend.capabilities.context_tokens
    if longest > room:
        raise Fault(
            400,
            f"request ({longest} tokens) exceeds the available context size ({room} tokens)",
            "exceed_context_size_error",
        )
    n_shared = counts[0][1]
    total = n_shared + sum(n - n_shared for n, _ in counts)
    if total > MOST_PROMPT_TOKENS:
        raise Fault(
            413,
            f"The request renders {total} prompt tokens, the maximum is {MOST_PROMPT_TOKENS}. "
            "Ask fewer questions, or about a shorter state.",
        )
    return total


def _tokens(backend: Backend, request: ScoreRequest) -> tuple[int, int]:
    """Tokens of a prompt, and how many of them the questions about one state share.

    Exact where the tokenizer is in this process; elsewhere without those of the chat template.
    """
    if isinstance(backend, LocalBackend):
        encoded = backend.engine.tokenizer.encode(request.prompt)
        return len(encoded.ids), encoded.n_shared
    system, user = (message.content for message in request.prompt.messages)
    n_chars = request.prompt.shared_chars
    n_shared = backend.count_tokens(system) + backend.count_tokens(user[:n_chars])
    return n_shared + backend.count_tokens(user[n_chars:]), n_shared


def _said(model: str, asked: SystemOne, answers: dict[str, Any], n_tokens: int) -> dict[str, Any]:
    """The answer of the protocol, and what is vedette's own under one key if it was asked for."""
    own: dict[str, dict[str, Json]] = {}
    said: dict[str, dict[str, Json]] = {}
    for question in asked.questions:
        answer = answers[question.id]
        own[question.id] = {key: answer[key] for key in _OWN if key in answer}
        said[question.id] = {key: value for key, value in answer.items() if key not in _OWN}
        if asked.confidence == "entropy" and "confidence" in answer:
            said[question.id]["confidence"] = entropy_confidence(shares_of(question, answer))
    body: dict[str, Any] = {
        "model": model,
        "answers": said,
        "usage": {"input_tokens": n_tokens, "output_tokens": 0},
    }
    return body if asked.options is None else {**body, EXTENSION: {"answers": own}}
