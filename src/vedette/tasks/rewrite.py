"""A question as searches: a query, variants, sub-questions, passages that might answer it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import orjson

from vedette.backends.base import Backend
from vedette.errors import CapabilityMissing, ConstraintFailed, InputError
from vedette.types import (
    Answer,
    Completion,
    Constraint,
    Item,
    Json,
    Message,
    Prompt,
    Request,
    Sampling,
    Usage,
)

from .base import Steps
from .budget import check_at_least_1
from .conversation import history_text
from .faithful import Source
from .prompt_data import fill, load_prompt, text_of, with_instructions
from .reply import check_room, completion_of, cut_of, json_of
from .rewrite_modes import MODES, Kept, Mode

MOST_COUNT = 10
_NAMED_FAULTS = 3  # how many faults the second request names


@dataclass(frozen=True)
class Rewrite:
    """Implements `Task`: what to search for, to answer the question that the item's text is.

    `modes` are `query` (one search query), `variants` (`count` of them), `decompose` (up to
    `count` simpler questions) and `hyde` (`passages` texts that might answer it, to be embedded:
    Gao et al. 2022, arXiv 2212.10496). The item's column `history_column`, if it has one, is the
    conversation before the question: a text, or messages.

    Each text is checked: it keeps the question's script, and has no number and (but for `hyde`)
    no name that neither question nor history has. What fails is asked for once more, with the
    fault named, then left out and told under `dropped`. A mode that has nothing left gives the
    question itself, and the value says `fallback`. Raises `InputError` for parameters that are
    none.
    """

    modes: tuple[str, ...] = ("query",)
    count: int = 3
    passages: int = 1
    instructions: str = ""
    sampling: Sampling = field(default_factory=Sampling)
    history_column: str = "history"
    name: str = field(default="rewrite", init=False)

    def __post_init__(self) -> None:
        unknown = next((mode for mode in self.modes if mode not in MODES), None)
        if unknown is not None or not self.modes:
            given = "none" if unknown is None else repr(unknown)
            raise InputError(f"the modes are {', '.join(MODES)}; given is {given}")
        if len(set(self.modes)) < len(self.modes):
            raise InputError("a mode is given twice")
        for name, n in (("count", self.count), ("passages", self.passages)):
            check_at_least_1(name, n)
            if n > MOST_COUNT:
                raise InputError(f"{name} is {n}; it may be at most {MOST_COUNT}")

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        return {
            "prompt": cast(Json, load_prompt("rewrite")),
            "instructions": self.instructions,
            "parameters": {
                "modes": [*self.modes],
                "count": self.count,
                "passages": self.passages,
                "temperature": self.sampling.temperature,
                "seed": self.sampling.seed,
            },
        }

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        if not backend.capabilities.can_constrain:
            raise CapabilityMissing("rewrite needs a backend that can constrain its output")
        question = item.text.strip()
        if not question:
            return Answer(value={}, extra={"empty": True})
        source = Source(question, history_text(item.columns.get(self.history_column)))
        modes = [MODES[name] for name in self.modes]
        asks = [self.request(mode, source) for mode in modes]
        for ask in asks:
            check_room(ask.prompt, ask.max_tokens, backend)
        replies = [completion_of(result) for result in (yield asks)]
        kept = [Kept(mode, self._most(mode), source, backend.count_tokens) for mode in modes]
        for one, reply in zip(kept, replies, strict=True):
            one.take(_texts(reply, one.mode), is_cut=bool(cut_of(reply)))
        usage = sum((reply.usage for reply in replies), Usage())

        faulty = [i for i, one in enumerate(kept) if one.is_short]
        second = [self._again(asks[i], replies[i], kept[i]) for i in faulty]
        for ask in second:
            check_room(ask.prompt, ask.max_tokens, backend)
        for i, result in zip(faulty, (yield second) if second else (), strict=True):
            replies[i] = completion_of(result)
            kept[i].take(_texts(replies[i], kept[i].mode), is_cut=bool(cut_of(replies[i])))
            usage += replies[i].usage
        cut = next((found for reply in replies if (found := cut_of(reply))), {})
        return Answer(value=_value(kept, question), usage=usage, extra=cut)

    def request(self, mode: Mode, source: Source) -> Request:
        """The request for one mode; conversation and question are shared by all modes."""
        n = self._most(mode)
        system = with_instructions(text_of("rewrite", "system"), self.instructions)
        shared = fill(text_of("rewrite", "question"), question=source.question)
        if source.history:
            shared = fill(text_of("rewrite", "conversation"), history=source.history) + shared
        asked = fill(text_of("rewrite", mode.name), count=str(n))
        return Request(
            prompt=Prompt(
                (Message("system", system), Message("user", shared + asked)),
                shared_messages=1,
                shared_chars=len(shared),
            ),
            constraint=Constraint(
                "json_schema", orjson.dumps(mode.schema(n, digits=source.has_digits)).decode()
            ),
            max_tokens=mode.answer_tokens(n),
            sampling=self.sampling,
        )

    def _most(self, mode: Mode) -> int:
        """How many texts of a mode are wanted."""
        if not mode.is_list:
            return 1
        return self.passages if mode.name == "hyde" else self.count

    @staticmethod
    def _again(first: Request, reply: Completion, kept: Kept) -> Request:
        """The same request once more, with its reply and what is wrong with it."""
        named = dict.fromkeys(fault for _, fault in kept.faults[:_NAMED_FAULTS])
        turn = fill(text_of("rewrite", "again"), faults=" ".join(named))
        messages = (
            *first.prompt.messages,
            Message("assistant", reply.text),
            Message("user", turn),
        )
        return replace(first, prompt=Prompt(messages, shared_messages=1))


def _texts(reply: Completion, mode: Mode) -> list[str]:
    """The texts of a reply. Raises `ConstraintFailed` for one of another form."""
    value = json_of(reply)
    found = value.get(mode.key) if isinstance(value, dict) else None
    texts = found if isinstance(found, list) else [found]
    if not all(isinstance(text, str) for text in texts):
        raise ConstraintFailed(f"the answer has no {mode.key}: {reply.text[:80]}")
    return cast(list[str], texts)


def _value(kept: Sequence[Kept], question: str) -> Json:
    """What is left of each mode, and what was left out."""
    value: dict[str, Json] = {}
    for one in kept:
        texts: list[Json] = [*(one.texts or [question])]
        value[one.mode.key] = texts if one.mode.is_list else texts[0]
    if any(not one.texts for one in kept):
        value["fallback"] = True
    dropped: list[Json] = [
        {"mode": one.mode.name, "text": text, "why": why}
        for one in kept
        if one.is_short
        for text, why in one.faults
    ]
    if dropped:
        value["dropped"] = dropped
    return value


def rewriting(
    modes: Sequence[str], count: int | None, passages: int | None, **more: Any
) -> Rewrite:
    """The task as asked for. Raises `InputError` for a number that goes with none of the modes."""
    if count is not None and not {"variants", "decompose"} & set(modes):
        raise InputError("count goes with the modes variants and decompose")
    if passages is not None and "hyde" not in modes:
        raise InputError("passages goes with the mode hyde")
    return Rewrite(
        tuple(modes),
        count=3 if count is None else count,
        passages=1 if passages is None else passages,
        **more,
    )
