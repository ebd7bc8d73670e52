"""Errors as OpenAI's clients read them: the one place where they get their form for the wire."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI
from fastapi import Request as HttpRequest
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from vedette.config import plainly
from vedette.errors import InputTooLong, VedetteError
from vedette.types import Json

RETRY_AFTER_S = 1

_KINDS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "unavailable_error",
    501: "not_supported_error",
    503: "unavailable_error",
}
_TRIED_TYPE = re.compile(r"str|constrained-str|list\[.*\]|[A-Z]\w+Body")
_NO_SUCH = {404: "not_found", 405: "method_not_allowed"}


class Refusal(Exception):
    """A request that the server itself turns away. `param` is the field that is at fault.

    `retry_after_s` is when to come again, where that is known better than `RETRY_AFTER_S`.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        code: str = "invalid_value",
        param: str | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message, self.status, self.code, self.param = message, status, code, param
        self.retry_after_s = retry_after_s


OWN_FAULT = Refusal("a fault of the server", status=500, code="internal_error")
"""All that is told of a mistake in vedette; its log has the rest."""


NO_JSON = Refusal("the body is not valid JSON", code="invalid_json")


class AsciiJson(JSONResponse):
    """JSON that may hold what a client sent: also half a surrogate pair can be written so."""

    def render(self, content: Any) -> bytes:
        """As Starlette's, with escapes."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def body_of(error: VedetteError | Refusal) -> dict[str, Json]:
    """The body of an error: `{"error": {"message", "type", "param", "code"}}`."""
    if isinstance(error, Refusal):
        return _body(error.status, error.message, error.code, error.param)
    # The name that clients know, to shorten the conversation and try again.
    code = "context_length_exceeded" if isinstance(error, InputTooLong) else error.code
    return _body(error.http_status, str(error), code)


def response_of(error: VedetteError | Refusal) -> JSONResponse:
    """The whole answer to a request that ended in an error."""
    if isinstance(error, Refusal):
        later = error.retry_after_s
        headers = {} if later is None else {"Retry-After": str(later)}
        return _response(error.status, body_of(error), headers)
    # Clients try again after every 5xx, also where the next try must end the same.
    once = error.http_status >= 500 and not error.retryable
    headers = {"x-should-retry": "false"} if once else {}
    return _response(error.http_status, body_of(error), headers)


def add_handlers(app: FastAPI) -> None:
    """Give every error of this app its form, those of the framework too."""
    app.exception_handler(VedetteError)(_own)
    app.exception_handler(Refusal)(_own)
    app.exception_handler(RequestValidationError)(_invalid)
    app.exception_handler(HTTPException)(_of_framework)


async def _own(_: HttpRequest, error: VedetteError | Refusal) -> JSONResponse:
    return response_of(error)


async def _invalid(_: HttpRequest, error: RequestValidationError) -> JSONResponse:
    first = _deepest(error.errors())
    # "body" is said by all of them; numbers are places in lists; which of several types was tried
    # is nothing that the client has written.
    parts = (str(part) for part in first["loc"][1:])
    param = ".".join(part for part in parts if not _TRIED_TYPE.fullmatch(part))
    if first["type"] == "json_invalid":
        return response_of(NO_JSON)
    if first["type"] == "extra_forbidden":
        refusal = Refusal(f"there is no field {param}", code="unknown_field", param=param)
    elif param:
        refusal = Refusal(f"{param}: {plainly(first['msg'])}", param=param)
    elif first["type"] == "list_type":
        refusal = Refusal("the body must be a JSON list, with Content-Type: application/json")
    else:
        refusal = Refusal("the body must be a JSON object, with Content-Type: application/json")
    return response_of(refusal)


def _deepest(errors: Sequence[Any]) -> Any:
    """The mistake that says most: of alternatives, the one that came furthest."""
    return max(errors, key=lambda error: len(error["loc"]))


async def _of_framework(request: HttpRequest, error: HTTPException) -> JSONResponse:
    if error.status_code == 400:  # what FastAPI says of JSON too deep to be read
        return response_of(NO_JSON)
    message = {
        404: f"there is no {request.url.path}",
        405: f"{request.url.path} does not take {request.method}",
    }.get(error.status_code, str(error.detail))
    code = _NO_SUCH.get(error.status_code)
    return _response(error.status_code, _body(error.status_code, message, code), error.headers)


def _body(status: int, message: str, code: str | None, param: str | None = None) -> dict[str, Json]:
    kind = _KINDS.get(status, "invalid_request_error" if status < 500 else "api_error")
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def _response(
    status: int, body: Mapping[str, Json], headers: Mapping[str, str] | None = None
) -> JSONResponse:
    more = dict(headers or {})
    if status in (429, 503):
        more.setdefault("Retry-After", str(RETRY_AFTER_S))
    if status == 401:
        more["WWW-Authenticate"] = "Bearer"
    return AsciiJson(body, status, more)
