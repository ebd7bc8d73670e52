"""What `/chat/completions` says."""

from __future__ import annotations

from typing import Any

from vedette.errors import ServerFailed
from vedette.types import Completion, FinishReason, Usage

from .background import Push

_NOT_FINISHED = ("content_filter", "tool_calls", "function_call")


def completion_of(reply: dict[str, Any]) -> Completion:
    """A whole answer. Raises `ServerFailed` for a reply that is none."""
    choice = _first(reply)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise _no_sense(reply)
    if message.get("refusal"):
        raise ServerFailed(f"the model refuses to answer: {str(message['refusal'])[:200]}")
    text = message.get("content") or ""
    if not isinstance(text, str):
        raise _no_sense(reply)
    return Completion(text=text, finish_reason=_finish(choice), usage=usage_of(reply))


def usage_of(reply: dict[str, Any]) -> Usage:
    """The tokens that the server counts; zeros where it does not."""
    used = reply.get("usage")
    if not isinstance(used, dict):
        return Usage()
    details = used.get("prompt_tokens_details")
    details = details if isinstance(details, dict) else {}
    return Usage(
        prompt_tokens=_count(used, "prompt_tokens"),
        cached_tokens=_count(details, "cached_tokens"),
        sampled_tokens=_count(used, "completion_tokens"),
    )


def n_tokens_of(reply: dict[str, Any]) -> int:
    """Tokens of the answer."""
    return usage_of(reply).completion_tokens


class ChatReader:
    """Implements `http_client.Reader`: passes text on as it comes, and keeps it."""

    def __init__(self, push: Push) -> None:
        self.n_tokens = 0
        self.has_passed_on = False
        self.is_complete = False
        self._push = push
        self._pieces: list[str] = []
        self._finish: FinishReason = "stop"
        self._usage = Usage()

    def take(self, event: dict[str, Any]) -> None:
        """See `Reader.take`. The usage comes in an event without choices, after the last piece."""
        if event.get("usage"):
            self._usage = usage_of(event)
            self.n_tokens = self._usage.completion_tokens
        if not event.get("choices"):
            return
        choice = _first(event)
        delta = choice.get("delta")
        piece = delta.get("content") if isinstance(delta, dict) else None
        if piece:
            self._pieces.append(piece)
            self._push(piece)
            self.has_passed_on = True
        if choice.get("finish_reason"):
            self._finish = _finish(choice)
            self.is_complete = True

    def completion(self) -> Completion:
        """The whole answer."""
        return Completion(text="".join(self._pieces), finish_reason=self._finish, usage=self._usage)


def _first(reply: dict[str, Any]) -> dict[str, Any]:
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise _no_sense(reply)
    first: dict[str, Any] = choices[0]
    return first


def _finish(choice: dict[str, Any]) -> FinishReason:
    reason = choice.get("finish_reason")
    if reason in _NOT_FINISHED:
        raise ServerFailed(f"the answer was ended by the server: {reason}")
    return "length" if reason == "length" else "stop"


def _count(values: dict[str, Any], name: str) -> int:
    value = values.get(name)
    return value if isinstance(value, int) else 0


def _no_sense(reply: dict[str, Any]) -> ServerFailed:
    return ServerFailed(f"the server sent no chat completion: {str(reply)[:200]}")
