"""Chat completions as OpenAI's clients read them: whole, and in chunks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from vedette.tasks.call_grammar import CallGrammar
from vedette.tasks.call_reader import Argued, Called
from vedette.types import Completion

from .shapes import Framing, Named, Object, Tokens, reason_of, token_of, usage_of
from .told import Event, Said, Told


class ChatShape(Framing):
    """Implements `Shape` for `/v1/chat/completions`. `calls` is there if tools may be called."""

    def __init__(
        self,
        model: str,
        *,
        calls: CallGrammar | None = None,
        is_streamed: bool,
        logprobs: bool,
        includes_usage: bool,
    ) -> None:
        kind = "chat.completion.chunk" if is_streamed else "chat.completion"
        self._named = Named("chatcmpl", kind, model, includes_usage=includes_usage)
        self._logprobs = logprobs
        self._is_text = calls is None
        self._told: defaultdict[int, Told] = defaultdict(lambda: Told(calls))

    def whole(self, completions: Sequence[Completion], n_each: int) -> Object:
        """See `Shape`. Raises `ConstraintFailed` for a call that does not fit its tool."""
        choices = [self._choice(index, each) for index, each in enumerate(completions)]
        return self._named.with_choices(*choices, usage=usage_of(completions, n_each))

    def _choice(self, index: int, completion: Completion) -> Object:
        told = self._told[index]
        told.whole(completion)
        message: Object = {"role": "assistant", "content": told.text if self._is_text else None}
        if told.made:
            message["tool_calls"] = [call.object for call in told.made]
        return {
            "index": index,
            "message": message,
            "logprobs": self._logprobs_of(completion.logprobs),
            "finish_reason": self._reason(index, completion),
        }

    def _logprobs_of(self, tokens: Tokens) -> Object | None:
        if not self._logprobs:
            return None
        return {"content": [token_of(one) for one in tokens], "refusal": None}

    def _reason(self, index: int, completion: Completion) -> str:
        reason = reason_of(completion)
        return "tool_calls" if reason == "stop" and self._told[index].made else reason

    def opening(self, n: int) -> list[Object]:
        """See `Shape`: the role of each."""
        content = "" if self._is_text else None
        return [self._chunk(i, {"role": "assistant", "content": content}) for i in range(n)]

    def piece(self, index: int, text: str, tokens: Tokens) -> list[Object]:
        """See `Shape`."""
        return self._chunks(index, self._told[index].take(text), tokens)

    def ending(self, index: int, completion: Completion, tokens: Tokens) -> list[Object]:
        """See `Shape`. Raises as `whole` does."""
        last = self._chunks(index, self._told[index].end())
        return [*last, self._chunk(index, {}, tokens, self._reason(index, completion))]

    def closing(self, completions: Sequence[Completion], n_each: int) -> list[Object]:
        """See `Shape`."""
        return self._named.closing(completions, n_each)

    def _chunks(self, index: int, events: Iterable[Event], tokens: Tokens = ()) -> list[Object]:
        return [self._chunk(index, self._delta(index, event), tokens) for event in events]

    def _delta(self, index: int, event: Event) -> Object:
        match event:
            case Said(text):
                return {"content": text}
            case Called(number, name):
                function = {"name": name, "arguments": ""}
                made = self._told[index].made[number]
                call = {"index": number, "id": made.id, "type": "function", "function": function}
                return {"tool_calls": [call]}
            case Argued(number, text, _):
                return {"tool_calls": [{"index": number, "function": {"arguments": text}}]}

    def _chunk(
        self, index: int, delta: Object, tokens: Tokens = (), reason: str | None = None
    ) -> Object:
        choice = {
            "index": index,
            "delta": delta,
            "logprobs": self._logprobs_of(tokens) if tokens else None,
            "finish_reason": reason,
        }
        return self._named.chunk(choice)
