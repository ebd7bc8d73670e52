"""What tasks that ask for JSON have in common: room for the prompt, reading the reply."""

from __future__ import annotations

import orjson

from vedette.backends.base import Backend, Result
from vedette.errors import ConstraintFailed, InputTooLong
from vedette.types import Completion, Embedding, Json, Prompt, Scores

_PER_MESSAGE_TOKENS = 8  # what a chat template puts around a message, at most
_MARGIN_TOKENS = 16


def check_room(prompt: Prompt, answer_tokens: int, backend: Backend) -> None:
    """Raises `InputTooLong`, with the sizes, for a prompt that leaves no room for its answer."""
    counts = (backend.count_tokens(m.content) + _PER_MESSAGE_TOKENS for m in prompt.messages)
    taken = sum(counts) + answer_tokens + _MARGIN_TOKENS
    room = backend.capabilities.context_tokens
    if taken > room:
        raise InputTooLong(
            f"the prompt takes {taken - answer_tokens} tokens and the answer up to "
            f"{answer_tokens}; the model has room for {room}",
            hint="shorten the text, or use a model with more context",
        )


def completion_of(result: Result) -> Completion:
    """The reply to a `Request`."""
    if not isinstance(result, Completion):
        raise TypeError("a completion was asked for")
    return result


def scores_of(result: Result) -> Scores:
    """The reply to a `ScoreRequest`."""
    if not isinstance(result, Scores):
        raise TypeError("scores were asked for")
    return result


def embedding_of(result: Result) -> Embedding:
    """The reply to an `EmbedRequest`."""
    if not isinstance(result, Embedding):
        raise TypeError("an embedding was asked for")
    return result


def json_of(completion: Completion) -> Json:
    """The reply as a value. Raises `ConstraintFailed` if it is not JSON."""
    try:
        value: Json = orjson.loads(completion.text)
    except orjson.JSONDecodeError as error:
        raise ConstraintFailed(
            f"the answer is not JSON: {error.msg} (after {completion.usage.completion_tokens} "
            f"tokens, finish reason {completion.finish_reason})"
        ) from error
    return value


def cut_of(completion: Completion) -> dict[str, Json]:
    """`{"cut": ...}` where the answer was brought to an end early, else nothing."""
    cut = completion.cut or ("length" if completion.finish_reason == "length" else None)
    return {"cut": cut} if cut else {}
