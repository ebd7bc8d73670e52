"""The app: every route over one backend."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI
from fastapi.responses import JSONResponse

from vedette.backends.base import Backend
from vedette.errors import VedetteError
from vedette.types import Json

from .chat import chat_router
from .completions import completion_router
from .door import Door
from .embeddings import embedding_router
from .facts import Facts
from .options import ServeOptions
from .problems import Refusal, add_handlers
from .tokens import token_router

if TYPE_CHECKING:
    from vedette.gateway.gateway import Gateway


def create_app(
    backend: Backend, options: ServeOptions | None = None, gateway: Gateway | None = None
) -> FastAPI:
    """The HTTP door over `backend`, which stays the caller's to close.

    `gateway` answers for the models that are its routes. It is closed when the app ends.
    """
    options = options or ServeOptions()
    app = FastAPI(
        title="vedette",
        version=version("vedette"),
        docs_url=None,  # these pages would load scripts from elsewhere
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    app.add_middleware(Door, options=options)
    add_handlers(app)
    facts = Facts(backend, options)
    app.include_router(_state(backend))
    app.include_router(_models(facts, gateway.models if gateway else ()))
    app.include_router(chat_router(facts))
    app.include_router(completion_router(facts))
    app.include_router(embedding_router(facts))
    app.include_router(token_router(facts))
    if gateway is not None:
        from .gateway_entry import add_gateway  # it needs the extra `gateway`

        add_gateway(app, gateway, facts.model)
    return app


def _state(backend: Backend) -> APIRouter:
    router = APIRouter()

    @router.get("/health")
    async def health() -> dict[str, str]:
        """The process lives."""
        return {"status": "ok"}

    @router.get("/ready")
    async def ready() -> dict[str, str]:
        """The backend answers: it can be asked for the tokens of a word."""
        try:
            await asyncio.to_thread(backend.count_tokens, "ready")
        except VedetteError as error:
            raise Refusal(str(error), status=503, code=error.code) from error
        return {"status": "ok"}

    return router


def _models(facts: Facts, routes: Sequence[str]) -> APIRouter:
    router = APIRouter(prefix="/v1/models")
    backend = facts.backend
    entry: dict[str, Json] = {
        "id": facts.model,
        "object": "model",
        "created": int(time.time()),
        "owned_by": "vedette",
        "meta": {"name": backend.name, "n_ctx": backend.capabilities.context_tokens},
    }

    of_gateway: dict[str, dict[str, Json]] = {
        name: {"id": name, "object": "model", "created": entry["created"], "owned_by": "gateway"}
        for name in routes
    }

    @router.get("")
    async def models() -> JSONResponse:
        return JSONResponse({"object": "list", "data": [entry, *of_gateway.values()]})

    @router.get("/{model:path}")
    async def model(model: str) -> JSONResponse:
        if model in of_gateway:
            return JSONResponse(of_gateway[model])
        facts.check_model(model)
        return JSONResponse(entry)

    return router
