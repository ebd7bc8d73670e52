"""Answers as the two endpoints that generate text give them: whole, and in chunks."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Protocol, TypeAlias

from vedette.types import Completion, TokenLogprob

Object: TypeAlias = dict[str, Any]


class Shape(Protocol):
    """One endpoint's way to say an answer."""

    def whole(self, completions: Sequence[Completion], n_each: int) -> Object:
        """All choices at once, `n_each` for each prompt."""
        ...

    def opening(self, n: int) -> list[Object]:
        """Chunks that open a stream of `n` choices."""
        ...

    def piece(self, index: int, text: str) -> Object:
        """A chunk with more text of one choice."""
        ...

    def ending(self, index: int, completion: Completion) -> Object:
        """The last chunk of one choice."""
        ...

    def closing(self, usage: Object) -> Object:
        """The chunk with the usage of the whole stream."""
        ...


class _Named:
    """What every object and chunk of one answer begins with."""

    def __init__(self, prefix: str, kind: str, model: str) -> None:
        self._head = {
            "id": f"{prefix}-{uuid.uuid4().hex}",
            "object": kind,
            "created": int(time.time()),
            "model": model,
        }

    def with_choices(self, *choices: Object, **more: Any) -> Object:
        return {**self._head, "choices": list(choices), **more}


class ChatShape:
    """Implements `Shape` for `/v1/chat/completions`."""

    def __init__(self, model: str, *, is_streamed: bool, logprobs: bool = False) -> None:
        kind = "chat.completion.chunk" if is_streamed else "chat.completion"
        self._named = _Named("chatcmpl", kind, model)
        self._logprobs = logprobs

    def whole(self, completions: Sequence[Completion], n_each: int) -> Object:
        """See `Shape`."""
        choices = [
            {
                "index": index,
                "message": {"role": "assistant", "content": completion.text},
                "logprobs": self._logprobs_of(completion),
                "finish_reason": reason_of(completion),
            }
            for index, completion in enumerate(completions)
        ]
        return self._named.with_choices(*choices, usage=usage_of(completions, n_each))

    def _logprobs_of(self, completion: Completion) -> Object | None:
        if not self._logprobs:
            return None
        return {"content": [_token(one) for one in completion.logprobs], "refusal": None}

    def opening(self, n: int) -> list[Object]:
        """See `Shape`: the role of each."""
        return [self._chunk(i, {"role": "assistant", "content": ""}) for i in range(n)]

    def piece(self, index: int, text: str) -> Object:
        """See `Shape`."""
        return self._chunk(index, {"content": text})

    def ending(self, index: int, completion: Completion) -> Object:
        """See `Shape`."""
        return self._chunk(index, {}, reason_of(completion))

    def closing(self, usage: Object) -> Object:
        """See `Shape`."""
        return self._named.with_choices(usage=usage)

    def _chunk(self, index: int, delta: Object, reason: str | None = None) -> Object:
        choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": reason}
        return self._named.with_choices(choice)


class TextShape:
    """Implements `Shape` for `/v1/completions`."""

    def __init__(self, model: str, *, logprobs: bool = False) -> None:
        self._named = _Named("cmpl", "text_completion", model)
        self._logprobs = logprobs

    def whole(self, completions: Sequence[Completion], n_each: int) -> Object:
        """See `Shape`."""
        choices = [
            {
                "index": index,
                "text": completion.text,
                "logprobs": _columns(completion.logprobs) if self._logprobs else None,
                "finish_reason": reason_of(completion),
            }
            for index, completion in enumerate(completions)
        ]
        return self._named.with_choices(*choices, usage=usage_of(completions, n_each))

    def opening(self, n: int) -> list[Object]:
        """See `Shape`: there is nothing to say before the text."""
        return []

    def piece(self, index: int, text: str) -> Object:
        """See `Shape`."""
        return self._chunk(index, text)

    def ending(self, index: int, completion: Completion) -> Object:
        """See `Shape`."""
        return self._chunk(index, "", reason_of(completion))

    def closing(self, usage: Object) -> Object:
        """See `Shape`."""
        return self._named.with_choices(usage=usage)

    def _chunk(self, index: int, text: str, reason: str | None = None) -> Object:
        choice = {"index": index, "text": text, "logprobs": None, "finish_reason": reason}
        return self._named.with_choices(choice)


def reason_of(completion: Completion) -> str:
    """Why it ended; one that was brought to a legal end within its budget was cut by length."""
    return "length" if completion.cut == "budget" else completion.finish_reason


def usage_of(completions: Sequence[Completion], n_each: int) -> Object:
    """Tokens of all of them; a prompt with several answers counts once."""
    prompts = [completion.usage for completion in completions[::n_each]]
    n_prompt = sum(usage.prompt_tokens for usage in prompts)
    n_answer = sum(completion.usage.completion_tokens for completion in completions)
    return {
        "prompt_tokens": n_prompt,
        "completion_tokens": n_answer,
        "total_tokens": n_prompt + n_answer,
        "prompt_tokens_details": {"cached_tokens": sum(usage.cached_tokens for usage in prompts)},
    }


def _columns(tokens: Sequence[TokenLogprob]) -> Object:
    """Log-probabilities as text completions have them; offsets are in characters."""
    texts = [one.text for one in tokens]
    return {
        "tokens": texts,
        "token_logprobs": [one.logprob for one in tokens],
        "top_logprobs": None,
        "text_offset": [0, *accumulate(map(len, texts))][: len(texts)],
    }


def _token(one: TokenLogprob) -> Object:
    is_whole = "\ufffd" not in one.text  # else a part of a character, whose bytes are not known
    return {
        "token": one.text,
        "logprob": one.logprob,
        "bytes": list(one.text.encode()) if is_whole else None,
        "top_logprobs": [],
    }
