"""`GET /openapi.json`: every route of the server, as it is."""

from __future__ import annotations

import copy
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.responses import JSONResponse

from .replies import ERRORS
from .scopes import is_open, scope_of

SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "x-api-key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
}
METHODS = ("get", "post", "put", "patch", "delete")


def document_router(app: FastAPI) -> APIRouter:
    """The route. Whatever is included in `app`, before or after this, is in the document."""
    router = APIRouter()

    @router.get("/openapi.json", include_in_schema=False)
    def tell() -> JSONResponse:
        return JSONResponse(document_of(app))

    return router


def document_of(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document: FastAPI's, with keys and their scopes."""
    document = copy.deepcopy(app.openapi())
    document.setdefault("components", {})["securitySchemes"] = SCHEMES
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                _add_keys(path, item[method])
                _make_errors_json(item[method]["responses"])
    return document


def _make_errors_json(answers: dict[str, Any]) -> None:
    """Of a route that answers with something else too, where FastAPI gives errors that type."""
    for status in ERRORS:
        (content,) = answers[str(status)]["content"].values()
        answers[str(status)]["content"] = {"application/json": content}


def _add_keys(path: str, operation: dict[str, Any]) -> None:
    if is_open(path):
        operation["security"] = []
        return
    # The empty one: a server without keys is open to its own machine.
    operation["security"] = [{"bearer": []}, {"x-api-key": []}, {}]
    operation["x-scope"] = scope_of(path) or "any"
