"""What goes wrong with a server, as typed errors, and whether it is worth trying again."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from time import time

import httpx2
import orjson

from vedette.errors import (
    AccessDenied,
    InputTooLong,
    RateLimited,
    RequestRefused,
    ServerFailed,
    ServerTimeout,
    ServerUnreachable,
    VedetteError,
)

SHOWN_CHARACTERS = 200
MOST_WAIT_S = 60.0
"""A server that asks to wait longer than this is given up."""

_TOO_LONG = ("exceed_context_size_error", "context_length_exceeded")
_NO_USE = ("insufficient_quota",)  # a 429 that no waiting mends
_KEY_HINT = "put the right key into VEDETTE_API_KEY (or OPENAI_API_KEY for openai: addresses)"


class Trouble(Exception):
    """One try failed. `error` is what it comes to if there is no other try.

    `retry`: another one may succeed, after `wait_s` if the server says when. `too_much`: the
    server has more to do than it can.
    """

    def __init__(
        self,
        error: VedetteError,
        *,
        retry: bool = False,
        wait_s: float | None = None,
        too_much: bool = False,
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.retry = retry and (wait_s is None or wait_s <= MOST_WAIT_S)
        self.wait_s = wait_s
        self.too_much = too_much

    @property
    def is_unreachable(self) -> bool:
        """Whether the server cannot be talked to at all."""
        return isinstance(self.error, ServerUnreachable)


def of_transport(error: httpx2.HTTPError, server: str, timeout_s: float) -> Trouble:
    """The trouble of a request that got no response."""
    if isinstance(error, httpx2.ReadTimeout | httpx2.WriteTimeout):
        late = ServerTimeout(
            f"{server} did not answer within {timeout_s:g} s", hint="raise the setting timeout_s"
        )
        return Trouble(late, too_much=True)  # it had its time; a job can ask again
    reason = str(error) or type(error).__name__
    gone = ServerUnreachable(f"{server} cannot be reached: {reason}", hint="is it still running?")
    return Trouble(gone, retry=True)


def of_response(status: int, headers: httpx2.Headers, content: bytes, server: str) -> Trouble:
    """The trouble that a response with an error status tells of."""
    return of_error(status, *_told(content), server, wait_s=_wait_s(headers))


def of_event(body: object, server: str) -> Trouble:
    """The trouble that an `error` within a stream tells of."""
    reason, kind = _described(body)
    code = body.get("code") if isinstance(body, dict) else None
    status = code if isinstance(code, int) and 400 <= code <= 599 else 500
    return of_error(status, reason, kind, server)


def of_error(
    status: int, reason: str, kind: str, server: str, *, wait_s: float | None = None
) -> Trouble:
    """The trouble of an HTTP status, with the server's reason and its own kind of error."""
    said = f"{server} says: {reason} (HTTP {status})"
    if kind in _TOO_LONG:
        return Trouble(InputTooLong(said, hint="shorten the text, or give the server more context"))
    match status:
        case 401 | 403:
            return Trouble(AccessDenied(said, hint=_KEY_HINT))
        case 404:
            return Trouble(RequestRefused(said, hint="check the URL and the model's name"))
        case 429:
            asks = "" if wait_s is None else f"; it asks to wait {wait_s:g} s"
            limited = RateLimited(said + asks, hint="run the job again later with --retry-failed")
            return Trouble(limited, retry=kind not in _NO_USE, wait_s=wait_s, too_much=True)
        case 408 | 409 | 500 | 502 | 503 | 504:
            return Trouble(ServerFailed(said), retry=True, wait_s=wait_s, too_much=status == 503)
    if 400 <= status < 500:
        return Trouble(RequestRefused(said))
    if 300 <= status < 400:
        return Trouble(ServerFailed(said, hint="give the URL that it leads to"))
    return Trouble(ServerFailed(said))


def broken_off(server: str) -> Trouble:
    """The trouble of a stream that ends before its answer does."""
    gone = ServerUnreachable(f"{server} ended the connection within an answer")
    return Trouble(gone, retry=True)


def no_sense(what: str, content: bytes, server: str) -> Trouble:
    """The trouble of a reply that is not what was asked for."""
    shown = content[:SHOWN_CHARACTERS].decode(errors="replace")
    return Trouble(ServerFailed(f"{server} sent {what}: {shown!r}"), retry=True)


def _told(content: bytes) -> tuple[str, str]:
    try:
        data = orjson.loads(content)
    except orjson.JSONDecodeError:
        return content[:SHOWN_CHARACTERS].decode(errors="replace").strip() or "nothing", ""
    return _described(data.get("error", data) if isinstance(data, dict) else data)


def _described(error: object) -> tuple[str, str]:
    """Message and kind of an error object, of whatever shape."""
    if not isinstance(error, dict):
        return str(error)[:SHOWN_CHARACTERS], ""
    kind = next((error[key] for key in ("code", "type") if isinstance(error.get(key), str)), "")
    message = error.get("message") or error.get("detail") or error
    return " ".join(str(message).split())[:SHOWN_CHARACTERS], kind


def _wait_s(headers: httpx2.Headers) -> float | None:
    """`Retry-After`, in seconds or as a date (RFC 9110, section 10.2.3)."""
    text = headers.get("retry-after", "")
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time())
    except (ValueError, TypeError):
        return None
