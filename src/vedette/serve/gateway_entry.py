"""Chat completions for models that are routes of the gateway."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from dataclasses import dataclass

import orjson
from fastapi import FastAPI
from fastapi import Request as HttpRequest
from fastapi.responses import JSONResponse, Response
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

from vedette.errors import VedetteError
from vedette.gateway.gateway import Gateway
from vedette.gateway.messages import is_streamed
from vedette.gateway.passage import Object, Passage

from . import metric_list
from .desk import PAUSE_S, left, while_there
from .faults import told
from .ledger import ledger_router
from .local_tier import LocalTier
from .metrics import Metrics
from .problems import OWN_FAULT, Refusal, body_of, response_of
from .replay import replayed
from .shapes import Framing
from .stream import PING, EventStream

PATH = "/v1/chat/completions"

_FRAMES = Framing()

_log = logging.getLogger(__name__)


def add_gateway(app: FastAPI, gateway: Gateway, model: str, metrics: Metrics) -> None:
    """Put the gateway before the app's chat completions. `model` is who answers these.

    It is closed at the end of the app's life. `metrics` tell what its ledger and its cache lost.
    """
    metrics.also_tell(
        {
            metric_list.LEDGER_LOST: lambda: gateway.ledger.lost,
            metric_list.CACHE_FAILURES: lambda: gateway.cache_failures,
        }
    )
    # Within the door, which stands in the list already.
    app.user_middleware.append(Middleware(GatewayEntry, gateway=gateway, model=model))
    app.include_router(ledger_router(gateway))


class GatewayEntry:
    """ASGI middleware: requests for a route's model go through the gateway, all others on."""

    def __init__(self, app: ASGIApp, gateway: Gateway, model: str) -> None:
        self._app = app
        self._gateway = gateway
        self._model = model

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI has it."""
        if scope["type"] != "http" or (scope["method"], scope["path"]) != ("POST", PATH):
            await self._app(scope, receive, send)
            return
        http = HttpRequest(scope, receive)
        content = await http.body()
        body = _chat(http, content)
        passage = self._gateway.passage(body.get("model"))
        if passage is None:
            await self._app(scope, replayed(content, receive), send)
            return
        scope["route"] = _Named(PATH)
        response = await self._answered(http, passage, body)
        await response(scope, receive, send)

    async def _answered(self, http: HttpRequest, passage: Passage, body: Object) -> Response:
        local = LocalTier(self._app, http.scope, self._model)
        objects = self._gateway.answer(passage, body, local)
        try:
            first = await while_there(http, anext(objects))
        except (VedetteError, Refusal) as error:
            response: Response = response_of(error)
        else:
            if is_streamed(body):
                response = EventStream(_FRAMES.framed(first), _chunks(http, objects))
            else:
                await _next(objects)  # there is no other; what is left is to account for it
                response = JSONResponse(first)
        response.headers.update(passage.headers)
        return response


@dataclass(frozen=True, slots=True)
class _Named:
    """What metrics know a route by."""

    path_format: str


def _chat(http: HttpRequest, content: bytes) -> Object:
    """The body; nothing for one that is not the gateway's to refuse."""
    kind = http.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        return {}
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


async def _chunks(http: HttpRequest, objects: AsyncGenerator[Object]) -> AsyncGenerator[bytes]:
    """The events after the first one. An error is the last of them; then nothing runs on."""
    leaving = asyncio.ensure_future(left(http))
    step: asyncio.Future[Object | None] | None = None
    try:
        while True:
            step = asyncio.ensure_future(_next(objects))
            while not step.done():
                await asyncio.wait(
                    {step, leaving}, timeout=PAUSE_S, return_when=asyncio.FIRST_COMPLETED
                )
                if leaving.done():
                    return
                if not step.done():
                    yield PING
            one = step.result()
            if one is None:
                break
            yield _FRAMES.framed(one)
    except (VedetteError, Refusal) as error:
        yield _FRAMES.framed(body_of(error))
        return
    except Exception as error:
        _log.error("a stream broke off by a fault of vedette\n%s", told(error))
        yield _FRAMES.framed(body_of(OWN_FAULT))
        return
    finally:
        leaving.cancel()
        if step is not None and not step.done():
            step.cancel()
            await asyncio.gather(step, return_exceptions=True)
        await objects.aclose()
    yield _FRAMES.end


async def _next(objects: AsyncGenerator[Object]) -> Object | None:
    return await anext(objects, None)
