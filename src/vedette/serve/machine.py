"""`GET /v1/machine`: what a step costs here, and what the engine has done so far."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from vedette.backends.base import Backend
from vedette.backends.local import LocalBackend


def machine_router(backend: Backend) -> APIRouter:
    """The route, over a server's backend."""
    router = APIRouter()

    @router.get("/v1/machine")
    async def machine() -> JSONResponse:
        """Facts of the engine, and T(n) where it was measured: [tokens, milliseconds]."""
        return JSONResponse(told(backend))

    return router


def told(backend: Backend) -> dict[str, Any]:
    """As JSON. Of a backend that is no engine in this process: its name, width and context."""
    facts: dict[str, Any] = {
        "model": backend.name,
        "width": backend.width,
        "context": backend.capabilities.context_tokens,
    }
    if not isinstance(backend, LocalBackend):
        return {"facts": facts, "curve": [], "curve_from": "none"}
    stats = backend.stats
    facts |= {
        "tuned": backend.is_tuned,
        "requests": stats.requests,
        "steps": stats.steps,
        "tokens_decoded": stats.tokens_decoded,
        "tokens_shared": stats.tokens_shared,
        "guessed": stats.guessed,
        "guesses_right": stats.guesses_right,
        "outside": f"{stats.python_share:.1%}",
    }
    curve = backend.engine.options.curve
    points = [[n, seconds * 1000] for n, seconds in curve.points] if curve else []
    return {"facts": facts, "curve": points, "curve_from": "tuned" if points else "none"}
