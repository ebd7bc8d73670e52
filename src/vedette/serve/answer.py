"""The answer to a request over HTTP, whole or as a stream."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Request as HttpRequest
from fastapi.responses import JSONResponse, Response

from vedette.types import Completion, Request

from .desk import Desk
from .fields import AnswerFields
from .shapes import Shape
from .stream import streamed


async def answered(
    http: HttpRequest,
    desk: Desk,
    body: AnswerFields,
    requests: Sequence[Request],
    shape: Shape,
    *,
    n_each: int,
) -> Response:
    """What the body asks for, `n_each` choices for each prompt. Raises what the desk raises."""
    includes_usage = body.includes_usage
    if body.stream:
        return await streamed(
            http, desk, requests, shape, n_each=n_each, includes_usage=includes_usage
        )
    completions = await desk.answers(http, requests, Completion)
    return JSONResponse(shape.whole(completions, n_each))
