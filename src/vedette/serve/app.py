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

from .activity import Activity, activity_router
from .adapters import adapter_router
from .batch_routes import batch_router, no_files_router
from .batches import Batches
from .chat import chat_router
from .completions import completion_router
from .document import document_router
from .door import Door
from .embeddings import embedding_router
from .errands import Errands
from .facts import Facts
from .file_store import FileStore
from .files import file_router
from .guard import Guard
from .inside import Inside
from .machine import machine_router
from .metrics import metric_router
from .options import ServeOptions
from .page import page_router
from .problems import Refusal, add_handlers
from .replies import ERRORS, ModelList, ModelReply, State
from .rerank import rerank_router
from .responses import response_router
from .schema import schema_router
from .systemone import systemone_router
from .tasks import task_router
from .tokens import token_router

if TYPE_CHECKING:
    from vedette.gateway.gateway import Gateway


def create_app(
    backend: Backend,
    options: ServeOptions | None = None,
    files: FileStore | None = None,
    gateway: Gateway | None = None,
) -> FastAPI:
    """The HTTP door over `backend` and `files`, which stay the caller's to close.

    Without `files` there are no batches. `gateway` answers for the models that are its routes, and
    is closed when the app ends. Raises `FileError` for a file of keys, or of batches, that
    cannot be read.
    """
    options = options or ServeOptions()
    app = FastAPI(
        title="vedette",
        version=version("vedette"),
        docs_url=None,  # these pages would load scripts from elsewhere
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        responses=ERRORS,
    )
    facts = Facts(backend, options)
    guard = Guard(options)
    activity = Activity()
    app.add_middleware(Door, options=options, guard=guard, metrics=facts.metrics, activity=activity)
    add_handlers(app)
    app.include_router(document_router(app))
    app.include_router(metric_router(facts.metrics))
    app.include_router(page_router())
    app.include_router(activity_router(activity, facts))
    app.include_router(machine_router(backend, has_gateway=gateway is not None))
    app.include_router(schema_router())
    app.include_router(_state(backend))
    app.include_router(_models(facts, gateway.models if gateway else ()))
    app.include_router(chat_router(facts))
    app.include_router(completion_router(facts))
    app.include_router(response_router(facts))
    app.include_router(embedding_router(facts))
    app.include_router(token_router(facts))
    errands = Errands(facts)
    for route in (systemone_router, rerank_router, task_router):
        app.include_router(route(facts, errands))
    app.include_router(adapter_router(facts.personas))
    if files is None:
        app.include_router(no_files_router())
    else:
        app.include_router(file_router(files))
        app.include_router(batch_router(Batches(files, facts, Inside(app)), guard))
    if gateway is not None:
        from .gateway_entry import add_gateway  # it needs the extra `gateway`

        add_gateway(app, gateway, facts.model, facts.metrics)
    return app


def _state(backend: Backend) -> APIRouter:
    router = APIRouter()

    @router.get("/health", response_model=State)
    async def health() -> dict[str, str]:
        """The process lives."""
        return {"status": "ok"}

    @router.get("/ready", response_model=State)
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

    def persona(model: str) -> dict[str, Json]:
        return {**entry, "id": model, "parent": facts.model}

    @router.get("", response_model=ModelList)
    async def models() -> JSONResponse:
        """The one model, it under each adapter, and the routes of the gateway."""
        found = [entry, *map(persona, facts.personas.models), *of_gateway.values()]
        return JSONResponse({"object": "list", "data": found, "models": found})

    @router.get("/{model:path}", response_model=ModelReply)
    async def model(model: str) -> JSONResponse:
        """The model of this name."""
        if model in of_gateway:
            return JSONResponse(of_gateway[model])
        if model in facts.personas.models:
            return JSONResponse(persona(model))
        facts.check_model(model)
        return JSONResponse(entry)

    return router
