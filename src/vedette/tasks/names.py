"""Names in a text (people, addresses, organisations, what the user asks for), copied from it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any, cast

from vedette.backends.base import Backend, Result
from vedette.errors import CapabilityMissing, ConstraintFailed, InputTooLong, LabelError
from vedette.json_text import json_text
from vedette.redaction.placeholders import KIND
from vedette.types import Answer, Constraint, Item, Json, Message, Prompt, Request, Usage

from .base import Steps
from .budget import answer_tokens, check_at_least_1
from .labels import Label, check_labels
from .prompt_data import fill
from .reply import completion_of, json_of
from .windows import LEAST_WINDOW_TOKENS, Window, windows

DEFAULT_KINDS = ("person", "address", "organisation")
WINDOW_TOKENS = 300
OVERLAP_TOKENS = 40
MAX_NAMES = 12  # of a kind in a window; a full list has the window halved and asked again
MAX_NAME_CHARS = 120
_MARGIN_TOKENS = 16
_PER_MESSAGE_TOKENS = 8


@dataclass(frozen=True)
class FindNames:
    """Implements `Task`: the names that a text has, by kind, each a span of it.

    The value is an object of lists without repeats, one for each of `kinds`. The text is read in
    overlapping windows of `window_tokens`. A window whose answer was cut, or has a full list, may
    have more names: it is halved and asked again, and if that does not help the item is an error,
    never a list with something missing. Raises `LabelError` for kinds that cannot be used.
    """

    kinds: tuple[Label, ...]
    window_tokens: int = WINDOW_TOKENS
    name: str = field(default="names", init=False)

    def __post_init__(self) -> None:
        check_labels(self.kinds)
        check_at_least_1("window_tokens", self.window_tokens)
        for kind in self.kinds:
            if not KIND.fullmatch(kind.name):
                raise LabelError(
                    f"the kind {kind.name!r} must be small letters, digits and _",
                    hint="describe it after a colon: codename: 项目代号",
                )

    @cached_property
    def schema(self) -> dict[str, Json]:
        """A list of spans for each kind."""
        item: Json = {"type": "string", "x-verbatim": True, "maxLength": MAX_NAME_CHARS}
        names: Json = {"type": "array", "items": item, "maxItems": MAX_NAMES}
        return {
            "type": "object",
            "properties": {kind.name: names for kind in self.kinds},
            "required": [kind.name for kind in self.kinds],
            "additionalProperties": False,
        }

    @cached_property
    def shared_messages(self) -> tuple[Message, ...]:
        """What every window's prompt begins with."""
        prompt = _prompt_data()
        described = (
            f"- {kind.name}: {kind.description or prompt['descriptions'].get(kind.name, kind.name)}"
            for kind in self.kinds
        )
        messages = [Message("system", fill(prompt["system"], kinds="\n".join(described)))]
        for example in prompt["examples"]:
            shown = {kind.name: example.get(kind.name, []) for kind in self.kinds}
            messages.append(Message("user", example["text"]))
            messages.append(Message("assistant", json_text(shown)))
        return tuple(messages)

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        return {
            "schema": self.schema,
            "prompt": [[m.role, m.content] for m in self.shared_messages],
            "parameters": {"window_tokens": self.window_tokens},
        }

    def request(self, text: str, n_tokens: int) -> Request:
        """The question about one window of `n_tokens` tokens."""
        shared = self.shared_messages
        return Request(
            prompt=Prompt((*shared, Message("user", text)), shared_messages=len(shared)),
            constraint=Constraint("json_schema", json_text(self.schema), text),
            max_tokens=answer_tokens(cast(dict[str, Any], self.schema), n_tokens),
        )

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        if not backend.capabilities.can_constrain:
            raise CapabilityMissing("finding names needs a backend that can constrain its output")
        found: dict[str, dict[str, None]] = {kind.name: {} for kind in self.kinds}
        usage = Usage()
        asked = 0
        waiting = self._windows(item.text, backend, self._limit(backend))
        while waiting:
            counts = [backend.count_tokens(window.text) for window in waiting]
            results = yield [self.request(w.text, n) for w, n in zip(waiting, counts, strict=True)]
            asked += len(waiting)
            again: list[Window] = []
            for window, n_tokens, result in zip(waiting, counts, results, strict=True):
                usage += result.usage
                names = self._whole_answer(window, result)
                if names is None:
                    again += self._halves(window, n_tokens, backend)
                    continue
                for kind, values in names.items():
                    found[kind].update(dict.fromkeys(values))
            waiting = again
        value: dict[str, Json] = {kind: [*names] for kind, names in found.items()}
        return Answer(value=value, usage=usage, extra={"windows": asked})

    def _windows(self, text: str, backend: Backend, limit_tokens: int) -> list[Window]:
        if not text.strip():
            return []
        return windows(
            text,
            backend.count_tokens,
            limit_tokens=limit_tokens,
            overlap_tokens=min(OVERLAP_TOKENS, limit_tokens // 4),
        )

    def _limit(self, backend: Backend) -> int:
        """Tokens of a window: what fits beside the shared part and the answer."""
        shared = sum(
            backend.count_tokens(m.content) + _PER_MESSAGE_TOKENS for m in self.shared_messages
        )
        answer = answer_tokens(cast(dict[str, Any], self.schema), self.window_tokens)
        room = backend.capabilities.context_tokens - shared - answer - _MARGIN_TOKENS
        if room < LEAST_WINDOW_TOKENS:
            raise InputTooLong(
                f"the instructions take {shared} tokens and the answer up to {answer}; of "
                f"{backend.capabilities.context_tokens} there is no room for the text",
                hint="ask for fewer kinds, or use a model with more context",
            )
        return min(self.window_tokens, room)

    def _halves(self, window: Window, n_tokens: int, backend: Backend) -> list[Window]:
        if n_tokens < 2 * LEAST_WINDOW_TOKENS:
            raise ConstraintFailed(
                f"the names at characters {window.start} to {window.start + len(window.text)} "
                "could not be listed whole: the model did not come to an end",
                hint="use another model, or fewer kinds",
            )
        parts = self._windows(window.text, backend, max(LEAST_WINDOW_TOKENS, n_tokens * 3 // 5))
        return [Window(window.start + part.start, part.text) for part in parts]

    def _whole_answer(self, window: Window, result: Result) -> Mapping[str, list[str]] | None:
        """The names of a window; None if there may be more of them."""
        completion = completion_of(result)
        value = json_of(completion)
        if not isinstance(value, dict) or value.keys() != {kind.name for kind in self.kinds}:
            raise ConstraintFailed(f"the answer is not what was asked for: {completion.text[:80]}")
        names = {kind: list(_texts(values, window.text)) for kind, values in value.items()}
        is_full = any(isinstance(v, list) and len(v) >= MAX_NAMES for v in value.values())
        return None if completion.cut or completion.finish_reason == "length" or is_full else names


def names_of(answer: Answer) -> dict[str, list[str]]:
    """The value of an answer of `FindNames`."""
    return cast(dict[str, list[str]], answer.value)


def _texts(values: Json, text: str) -> Iterator[str]:
    """The listed names, without space around them; pronouns are left out.

    Raises `ConstraintFailed` for what the window does not have.
    """
    for value in values if isinstance(values, list) else [values]:
        if not isinstance(value, str) or value not in text:
            raise ConstraintFailed(f"the answer has {value!r}, which the text does not have")
        if value.strip().lower() not in _prompt_data()["no_names"]:
            yield value.strip()


@lru_cache(maxsize=1)
def _prompt_data() -> dict[str, Any]:
    source = files("vedette.tasks").joinpath("prompts", "names.toml").read_text("utf-8")
    return tomllib.loads(source)
