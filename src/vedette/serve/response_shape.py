"""Responses as OpenAI's clients read them: whole, and as events."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence

import orjson

from vedette.errors import VedetteError
from vedette.tasks.call_grammar import CallGrammar
from vedette.tasks.call_reader import Argued, Called
from vedette.types import Completion, Json

from .problems import Refusal, body_of
from .shapes import Object, Tokens, reason_of, token_of, usage_of
from .told import Event, Said, Told


class ResponseShape:
    """Implements `Shape` for `/v1/responses`: one answer, a list of items.

    `echo` is what a response repeats of its request.
    """

    end = b""

    def __init__(
        self,
        model: str,
        echo: Mapping[str, Json],
        *,
        calls: CallGrammar | None,
        tells_logprobs: bool,
    ) -> None:
        self._head: Object = {
            "id": _new("resp"),
            "object": "response",
            "created_at": int(time.time()),
            "model": model,
        }
        self._echo = echo
        self._told = Told(calls)
        self._tells_logprobs = tells_logprobs
        self._tokens: list[Json] = []
        self._items: list[Object] = []
        self._n_events = 0

    def whole(self, completions: Sequence[Completion], n_each: int) -> Object:
        """See `Shape`. Raises `ConstraintFailed` for a call that does not fit its tool."""
        (completion,) = completions
        # The items are what the events of a stream add up to.
        self.piece(0, completion.text, ())
        self.ending(0, completion, completion.logprobs)
        return self._finished(completion)

    def opening(self, n: int) -> list[Object]:
        """See `Shape`."""
        response = self._response("in_progress")
        return [
            self._event("response.created", response=response),
            self._event("response.in_progress", response=response),
        ]

    def piece(self, index: int, text: str, tokens: Tokens) -> list[Object]:
        """See `Shape`."""
        return [one for event in self._told.take(text) for one in self._said_of(event, tokens)]

    def ending(self, index: int, completion: Completion, tokens: Tokens) -> list[Object]:
        """See `Shape`. Raises as `whole` does."""
        events = [one for event in self._told.end() for one in self._said_of(event, ())]
        if not self._items:  # an answer of nothing is a text without a character
            events += self._message_begins()
        self._note(tokens)
        is_cut = reason_of(completion) == "length"
        if self._items[-1]["status"] == "in_progress":
            events += self._message_ends("incomplete" if is_cut else "completed")
        return events

    def closing(self, completions: Sequence[Completion], n_each: int) -> list[Object]:
        """See `Shape`."""
        response = self._finished(completions[0])
        return [self._event(f"response.{response['status']}", response=response)]

    def failure(self, error: VedetteError | Refusal) -> Object:
        """See `Shape`."""
        told = body_of(error)["error"]
        assert isinstance(told, dict)
        reason = {"code": told["code"], "message": told["message"]}
        return self._event("response.failed", response=self._response("failed", error=reason))

    def framed(self, chunk: Object) -> bytes:
        """See `Shape`: the event's name stands before its data, too."""
        return f"event: {chunk['type']}\ndata: ".encode() + orjson.dumps(chunk) + b"\n\n"

    def _finished(self, completion: Completion) -> Object:
        is_cut = reason_of(completion) == "length"
        return self._response(
            "incomplete" if is_cut else "completed",
            output=[*self._items],
            incomplete_details={"reason": "max_output_tokens"} if is_cut else None,
            usage=_usage(completion),
        )

    def _response(self, status: str, **more: Json) -> Object:
        usual: Object = {"error": None, "incomplete_details": None, "output": [], "usage": None}
        fixed = {
            "background": False,
            "previous_response_id": None,
            "reasoning": {"effort": None, "summary": None},
            "service_tier": "default",
            "store": False,
            "truncation": "disabled",
        }
        return {**self._head, "status": status, **usual, **self._echo, **fixed, **more}

    def _event(self, kind: str, **more: Json) -> Object:
        self._n_events += 1
        return {"type": kind, "sequence_number": self._n_events - 1, **more}

    def _said_of(self, event: Event, tokens: Tokens) -> Iterator[Object]:
        match event:
            case Said(text):
                if not self._items:
                    yield from self._message_begins()
                logprobs = self._note(tokens)
                yield self._of_part("response.output_text.delta", delta=text, logprobs=logprobs)
            case Called(number, name):
                yield self._call_begins(number, name)
            case Argued(_, text, is_whole):
                self._items[-1]["arguments"] += text
                yield self._of_item("response.function_call_arguments.delta", delta=text)
                if is_whole:
                    yield from self._call_ends()

    def _note(self, tokens: Tokens) -> list[Json]:
        """The tokens as they are told, and kept for the end."""
        told: list[Json] = [token_of(one) for one in tokens] if self._tells_logprobs else []
        self._tokens += told
        return told

    def _message_begins(self) -> Iterator[Object]:
        yield self._item_begins(type="message", id=_new("msg"), role="assistant", content=[])
        yield self._of_part("response.content_part.added", part=_part("", []))

    def _message_ends(self, status: str) -> Iterator[Object]:
        text, logprobs = self._told.text, [*self._tokens]
        yield self._of_part("response.output_text.done", text=text, logprobs=logprobs)
        part = _part(text, logprobs)
        yield self._of_part("response.content_part.done", part=part)
        yield self._item_ends(status, content=[part])

    def _call_begins(self, number: int, name: str) -> Object:
        made = self._told.made[number]
        return self._item_begins(
            type="function_call", id=_new("fc"), call_id=made.id, name=name, arguments=""
        )

    def _call_ends(self) -> Iterator[Object]:
        item = self._items[-1]
        whole = {"arguments": item["arguments"], "name": item["name"]}
        yield self._of_item("response.function_call_arguments.done", **whole)
        yield self._item_ends("completed")

    def _item_begins(self, **item: Json) -> Object:
        self._items.append({**item, "status": "in_progress"})
        return self._of_output("response.output_item.added")

    def _item_ends(self, status: str, **more: Json) -> Object:
        self._items[-1] |= {**more, "status": status}
        return self._of_output("response.output_item.done")

    def _of_output(self, kind: str) -> Object:
        """An event with the last item as it is now."""
        item = {**self._items[-1]}
        return self._event(kind, output_index=len(self._items) - 1, item=item)

    def _of_item(self, kind: str, **more: Json) -> Object:
        """An event within the last item."""
        place = {"item_id": self._items[-1]["id"], "output_index": len(self._items) - 1}
        return self._event(kind, **place, **more)

    def _of_part(self, kind: str, **more: Json) -> Object:
        """An event within the text of the last item."""
        return self._of_item(kind, content_index=0, **more)


def _new(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex}"


def _part(text: str, logprobs: list[Json]) -> Object:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": logprobs}


def _usage(completion: Completion) -> Object:
    usage = usage_of([completion], 1)
    return {
        "input_tokens": usage["prompt_tokens"],
        "input_tokens_details": usage["prompt_tokens_details"],
        "output_tokens": usage["completion_tokens"],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage["total_tokens"],
    }
