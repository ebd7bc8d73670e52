"""Errors of `POST /v1/systemone`: its contract has a form of its own."""

from __future__ import annotations

from fastapi.responses import JSONResponse

from vedette.errors import InputError, InputTooLong, VedetteError

from .problems import RETRY_AFTER_S, AsciiJson, Refusal

_KINDS = {
    400: "invalid_request_error",
    404: "not_found_error",
    413: "request_too_large_error",
    422: "unprocessable_entity_error",
    429: "rate_limit_error",
    501: "not_supported_error",
    503: "unavailable_error",
}


class Fault(Exception):
    """What is wrong, as it is told. `kind` is by default what the status is called."""

    def __init__(self, status: int, message: str, kind: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message = status, message
        self.kind = kind or _KINDS.get(status, "server_error")

    @property
    def response(self) -> JSONResponse:
        """The whole answer."""
        body = {"error": {"code": self.status, "message": self.message, "type": self.kind}}
        headers = {"Retry-After": str(RETRY_AFTER_S)} if self.status in (429, 503) else {}
        return AsciiJson(body, self.status, headers)


def fault_of(error: VedetteError | Refusal) -> Fault:
    """The same in this form."""
    if isinstance(error, Refusal):
        return Fault(error.status, error.message)
    if isinstance(error, InputTooLong):
        return Fault(400, str(error), "exceed_context_size_error")
    if isinstance(error, InputError):
        return Fault(422, str(error))
    return Fault(error.http_status, str(error))
