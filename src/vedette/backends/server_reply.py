"""What a llama-server's `/completion` says."""

from __future__ import annotations

from typing import Any

from vedette.errors import ServerFailed
from vedette.types import Completion, Timings, TokenLogprob, Usage

from .background import Push
from .label_scores import NextTokens


def completion_of(reply: dict[str, Any]) -> Completion:
    """A whole answer. Raises `ServerFailed` for a reply that is none."""
    return _completion(reply, _text(reply), reply.get("completion_probabilities") or [])


class CompletionReader:
    """Implements `http_client.Reader`: passes text on as it comes, and keeps it."""

    def __init__(self, push: Push) -> None:
        self.n_tokens = 0
        self.has_passed_on = False
        self.is_complete = False
        self._push = push
        self._pieces: list[str] = []
        self._probabilities: list[Any] = []
        self._last: dict[str, Any] = {}

    def take(self, event: dict[str, Any]) -> None:
        """See `Reader.take`."""
        piece = _text(event)
        self._probabilities += event.get("completion_probabilities") or []
        if piece:
            self._pieces.append(piece)
            self._push(piece)
            self.has_passed_on = True
        if event.get("stop") is True:
            self.is_complete, self._last = True, event
            self.n_tokens = _number(event, "tokens_predicted")

    def completion(self) -> Completion:
        """The whole answer."""
        return _completion(self._last, "".join(self._pieces), self._probabilities)


def next_tokens_of(reply: dict[str, Any]) -> NextTokens | None:
    """The probabilities of the first token of a reply, if it tells any."""
    told = reply.get("completion_probabilities") or []
    if not told or not told[0].get("top_logprobs"):
        return None
    first = told[0]
    return NextTokens(
        logprobs={entry["id"]: float(entry["logprob"]) for entry in first["top_logprobs"]},
        end=float(first["logprob"]),
        n_prompt=_number(reply, "tokens_evaluated"),
        n_cached=_cached(reply),
    )


def _completion(last: dict[str, Any], text: str, probabilities: list[Any]) -> Completion:
    timings = last.get("timings") or {}
    return Completion(
        text=text,
        finish_reason="length" if last.get("stop_type") == "limit" else "stop",
        usage=Usage(
            prompt_tokens=_number(last, "tokens_evaluated"),
            cached_tokens=_cached(last),
            sampled_tokens=_number(last, "tokens_predicted"),
        ),
        timings=Timings(
            prefill_ms=float(timings.get("prompt_ms", 0.0)),
            decode_ms=float(timings.get("predicted_ms", 0.0)),
        ),
        logprobs=tuple(map(_logprob, probabilities)),
    )


def _logprob(entry: dict[str, Any]) -> TokenLogprob:
    top = sorted((float(other["logprob"]) for other in entry.get("top_logprobs", ())), reverse=True)
    return TokenLogprob(
        token_id=entry["id"],
        text=entry["token"],
        logprob=float(entry["logprob"]),
        runner_up_gap=top[0] - top[1] if len(top) > 1 else 0.0,
    )


def _text(reply: dict[str, Any]) -> str:
    text = reply.get("content")
    if not isinstance(text, str):
        raise ServerFailed(f"the llama-server sent no content: {str(reply)[:200]}")
    return text


def _cached(reply: dict[str, Any]) -> int:
    """Tokens of the prompt that the server had in its cache; 0 where it does not tell."""
    return _number(reply.get("timings") or {}, "cache_n", 0)


def _number(values: dict[str, Any], name: str, default: int | None = None) -> int:
    value = values.get(name, default)
    if not isinstance(value, int):
        raise ServerFailed(f"the llama-server does not tell {name}")
    return value
