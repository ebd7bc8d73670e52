"""`GET /v1/machine`: what a step costs here, and what the engine has done so far."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from vedette.backends.base import Backend
from vedette.backends.local import LocalBackend

from .replies import Reply


class EngineFacts(Reply):
    """Totals since the server began, see `vedette.engine.stats`; `outside` of llama.cpp, 0 to 1."""

    tuned: bool
    requests: int
    steps: int
    tokens_decoded: int
    tokens_shared: int
    guessed: int
    guesses_right: int
    outside: float


class MachineReply(Reply):
    """`engine` is null for a backend elsewhere. `curve` has pairs of tokens and milliseconds."""

    model: str
    width: int
    context: int
    engine: EngineFacts | None
    curve: list[tuple[int, float]]
    curve_from: Literal["tuned", "none"]
    has_gateway: bool


def machine_router(backend: Backend, *, has_gateway: bool) -> APIRouter:
    """The route, over a server's backend."""
    router = APIRouter()

    @router.get("/v1/machine", response_model=MachineReply)
    async def machine() -> JSONResponse:
        """What a step costs by its tokens, where it was measured, and the engine's totals."""
        return JSONResponse(_told(backend, has_gateway).model_dump())

    return router


def _told(backend: Backend, has_gateway: bool) -> MachineReply:
    curve = backend.engine.options.curve if isinstance(backend, LocalBackend) else None
    return MachineReply(
        model=backend.name,
        width=backend.width,
        context=backend.capabilities.context_tokens,
        engine=_facts(backend) if isinstance(backend, LocalBackend) else None,
        curve=[(n, seconds * 1000) for n, seconds in curve.points] if curve else [],
        curve_from="tuned" if curve else "none",
        has_gateway=has_gateway,
    )


def _facts(backend: LocalBackend) -> EngineFacts:
    stats = backend.stats
    return EngineFacts(
        tuned=backend.is_tuned,
        requests=stats.requests,
        steps=stats.steps,
        tokens_decoded=stats.tokens_decoded,
        tokens_shared=stats.tokens_shared,
        guessed=stats.guessed,
        guesses_right=stats.guesses_right,
        outside=round(stats.python_share, 4),
    )
