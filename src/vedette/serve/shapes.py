"""What answers over HTTP have in common, and text completions: whole, and in chunks."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Protocol, TypeAlias

import orjson

from vedette.errors import VedetteError
from vedette.types import Completion, TokenLogprob, TopToken

from .problems import Refusal, body_of

Object: TypeAlias = dict[str, Any]
Tokens: TypeAlias = Sequence[TokenLogprob]


class Shape(Protocol):
    """One endpoint's way to say an answer."""

    def whole(self, completions: Sequence[Completion], n_each: int) -> Object:
        """All choices at once, `n_each` for each prompt."""
        ...

    def opening(self, n: int) -> list[Object]:
        """Chunks that open a stream of `n` choices."""
        ...

    def piece(self, index: int, text: str, tokens: Tokens) -> list[Object]:
        """Chunks with more of one choice; `tokens` have log-probabilities to be told with it."""
        ...

    def ending(self, index: int, completion: Completion, tokens: Tokens) -> list[Object]:
        """The last chunks of one choice, with the tokens that were not told before."""
        ...

    def closing(self, completions: Sequence[Completion], n_each: int) -> list[Object]:
        """The chunks behind all choices, if there are any."""
        ...

    def failure(self, error: VedetteError | Refusal) -> Object:
        """The last chunk of a stream that broke off."""
        ...

    def framed(self, chunk: Object) -> bytes:
        """A chunk as a server-sent event."""
        ...

    @property
    def end(self) -> bytes:
        """What a whole stream ends with."""
        ...


class Framing:
    """The part of `Shape` that both kinds of completion have in common."""

    end = b"data: [DONE]\n\n"

    def framed(self, chunk: Object) -> bytes:
        """See `Shape`."""
        return b"data: " + orjson.dumps(chunk) + b"\n\n"

    def failure(self, error: VedetteError | Refusal) -> Object:
        """See `Shape`: OpenAI's client raises what has an `error`."""
        return body_of(error)


class Named:
    """What every object and chunk of one answer begins with."""

    def __init__(self, prefix: str, kind: str, model: str, *, includes_usage: bool) -> None:
        self.includes_usage = includes_usage
        self._head = {
            "id": f"{prefix}-{uuid.uuid4().hex}",
            "object": kind,
            "created": int(time.time()),
            "model": model,
        }

    def with_choices(self, *choices: Object, **more: Any) -> Object:
        """An object or chunk of these choices."""
        return {**self._head, "choices": list(choices), **more}

    def chunk(self, *choices: Object) -> Object:
        """A part of a stream, in which the usage comes last if at all."""
        return self.with_choices(*choices, **({"usage": None} if self.includes_usage else {}))

    def closing(self, completions: Sequence[Completion], n_each: int) -> list[Object]:
        """The usage of a stream, if it was asked for."""
        if not self.includes_usage:
            return []
        return [self.with_choices(usage=usage_of(completions, n_each))]


class TextShape(Framing):
    """Implements `Shape` for `/v1/completions`."""

    def __init__(self, model: str, *, logprobs: bool, includes_usage: bool) -> None:
        self._named = Named("cmpl", "text_completion", model, includes_usage=includes_usage)
        self._logprobs = logprobs
        self._offsets: Counter[int] = Counter()  # of each choice, in characters

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

    def piece(self, index: int, text: str, tokens: Tokens) -> list[Object]:
        """See `Shape`."""
        return [self._chunk(index, text, tokens)]

    def ending(self, index: int, completion: Completion, tokens: Tokens) -> list[Object]:
        """See `Shape`."""
        return [self._chunk(index, "", tokens, reason_of(completion))]

    def closing(self, completions: Sequence[Completion], n_each: int) -> list[Object]:
        """See `Shape`."""
        return self._named.closing(completions, n_each)

    def _chunk(self, index: int, text: str, tokens: Tokens, reason: str | None = None) -> Object:
        logprobs = None
        if self._logprobs and tokens:
            logprobs = _columns(tokens, self._offsets[index])
            self._offsets[index] += sum(len(one.text) for one in tokens)
        choice = {"index": index, "text": text, "logprobs": logprobs, "finish_reason": reason}
        return self._named.chunk(choice)


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


def _columns(tokens: Tokens, first: int = 0) -> Object:
    """Log-probabilities as text completions have them; offsets are in characters from `first` on.

    Likeliest tokens are listed by their text; of several that show the same, the likeliest.
    """
    texts = [one.text for one in tokens]
    tops = [{each.text: each.logprob for each in reversed(one.top)} for one in tokens]
    return {
        "tokens": texts,
        "token_logprobs": [one.logprob for one in tokens],
        "top_logprobs": tops if any(tops) else None,
        "text_offset": [first + n for n in [0, *accumulate(map(len, texts))][: len(texts)]],
    }


def token_of(one: TokenLogprob) -> Object:
    """A token's log-probability as chats have it."""
    return {**_entry(one), "top_logprobs": [_entry(each) for each in one.top]}


def _entry(one: TokenLogprob | TopToken) -> Object:
    is_whole = "\ufffd" not in one.text  # else a part of a character, whose bytes are not known
    return {
        "token": one.text,
        "logprob": one.logprob,
        "bytes": list(one.text.encode()) if is_whole else None,
    }
