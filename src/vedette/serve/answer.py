"""The answer to a request over HTTP, whole or as a stream."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Request as HttpRequest
from fastapi.responses import JSONResponse, Response

from vedette.types import Completion, Request

from .desk import Desk
from .pictures import NOTHING, Talk
from .shapes import Shape
from .stream import streamed


async def answered(
    http: HttpRequest,
    desk: Desk,
    requests: Sequence[Request],
    shape: Shape,
    *,
    is_streamed: bool | None,
    n_each: int = 1,
    beside: Talk = NOTHING,
) -> Response:
    """The answer to these requests, `n_each` choices for each prompt.

    What is said of pictures stands beside it; in a stream, in its first event. Raises what the
    desk and the shape raise.
    """
    if is_streamed:
        return await streamed(http, desk, requests, shape, n_each=n_each, beside=beside)
    completions = await desk.answers(http, requests, Completion)
    return JSONResponse(
        {**shape.whole(completions, n_each), **beside.field}, headers=beside.headers
    )
