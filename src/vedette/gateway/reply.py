"""Chat completions that the gateway says itself, and what all of them tell of tokens."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from typing import Any

from vedette.types import Usage

from .passage import Object


def said(text: str, model: str, usage: Usage, *, streamed: bool) -> list[Object]:
    """A text as an answer: one object, or the chunks of a stream with the usage at its end."""
    head: Object = {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion.chunk" if streamed else "chat.completion",
        "created": int(time.time()),
        "model": model,
    }
    counted = {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }
    message = {"role": "assistant", "content": text}
    if not streamed:
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return [{**head, "choices": [choice], "usage": counted}]

    def chunk(delta: Object, reason: str | None) -> Object:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return {**head, "choices": [choice]}

    return [chunk(message, None), chunk({}, "stop"), {**head, "choices": [], "usage": counted}]


def usage_in(answer: Mapping[str, Any]) -> Usage | None:
    """The tokens that an object tells; None where it tells none."""
    told = answer.get("usage")
    if not isinstance(told, dict):
        return None
    counts = [told.get(name) for name in ("prompt_tokens", "completion_tokens")]
    if not all(isinstance(count, int) and count >= 0 for count in counts):
        return None
    details = told.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    return Usage(
        prompt_tokens=counts[0] or 0,
        sampled_tokens=counts[1] or 0,
        cached_tokens=cached if isinstance(cached, int) else 0,
    )


def texts_in(answer: Mapping[str, Any]) -> str:
    """The text of an object's choices, to be counted where no tokens are told."""
    found = []
    for choice in answer.get("choices") or ():
        part = choice.get("message") or choice.get("delta") or {}
        found.append(part.get("content"))
        for call in part.get("tool_calls") or ():
            found.append((call.get("function") or {}).get("arguments"))
    return "".join(text for text in found if isinstance(text, str))
