"""One request through its route: guarded, decided, hidden, compressed, called, restored."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from vedette.errors import (
    AnswerInterrupted,
    CapabilityMissing,
    InputError,
    Overloaded,
    ServerError,
    ServerFailed,
    VedetteError,
)
from vedette.types import Usage

from .cache import AnswerCache, Kept, key_of
from .choice import Choice
from .compress import Compressor
from .decide import Decider
from .guard import Guard
from .hide import Hider
from .messages import is_repeatable, is_streamed, text_of, wants_usage
from .passage import Object, Passage
from .reply import said, texts_in, usage_in
from .restore import Restoring, is_json_asked
from .tables import LOCAL, UP
from .upstream import Tier

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Route:
    """A route with its steps opened. `made_for` is what its answers depend on."""

    name: str
    call: tuple[str, ...]
    guard: Guard | None = None
    decider: Decider | None = None
    hider: Hider | None = None
    compressor: Compressor | None = None
    cache: AnswerCache | None = None
    made_for: str = ""


class Worker(Protocol):
    """Runs what blocks elsewhere than on the event loop."""

    def __call__(self, work: Callable[..., T], *given: Any) -> Awaitable[T]:
        """What `work` returns or raises."""
        ...


class Errand:
    """The way of one request.

    `tiers` are by name, the local one among them; `count` counts tokens as the local model does.
    """

    def __init__(
        self,
        route: Route,
        passage: Passage,
        body: Mapping[str, Any],
        tiers: Mapping[str, Tier],
        work: Worker,
        count: Callable[[str], int],
    ) -> None:
        self._route = route
        self._passage = passage
        self._body = dict(body)
        self._tiers = tiers
        self._work = work
        self._count = count
        self._streamed = is_streamed(body)
        self._mapping: Mapping[str, str] = {}
        self._sent: Object | None = None
        self._restoring: Restoring | None = None
        self._usage: Usage | None = None
        self._pieces: list[str] = []
        self._is_settled = False

    async def objects(self) -> AsyncGenerator[Object]:
        """The answer as the client gets it: one object, or chunks.

        All that is raised before the first one has come is about the request as a whole.
        """
        key = self._key()
        kept = await self._work(self._route.cache.get, key) if key and self._route.cache else None
        raw = self._asked() if kept is None else self._replayed(kept)
        recorded: list[Object] = []
        async with aclosing(raw):
            async for one in raw:
                self._usage = usage_in(one) or self._usage
                self._pieces.append(texts_in(one))
                if key:
                    recorded.append(one)
                if (shown := self._shown(one)) is not None:
                    yield shown
        await self._work(self.settle)
        if key and kept is None and self._route.cache is not None:
            await self._work(self._route.cache.put, key, self._to_keep(recorded))

    def settle(self) -> None:
        """Write down the tokens of what was said so far; counted here where nobody told them.

        Once is enough: what ends in order settles, and what ends otherwise is settled.
        """
        passage, count = self._passage, self._count
        if self._is_settled or passage.cache == "hit" or not passage.tier:
            return
        self._is_settled = True
        if self._usage is None:
            if not any(self._pieces):
                return  # nothing was said, and nothing is reckoned for it
            passage.is_estimated = True
            prompt = self._sent or self._body
            self._usage = Usage(
                prompt_tokens=sum(count(text_of(one)) for one in prompt["messages"]),
                sampled_tokens=count("".join(self._pieces)),
            )
        passage.answer_tokens = self._usage.completion_tokens
        if passage.tier == LOCAL:  # a closed question reads more than the client has sent
            passage.asked_tokens = sum(count(text_of(one)) for one in self._body["messages"])
        else:
            passage.asked_tokens = self._usage.prompt_tokens + passage.cut_tokens
        passage.usage = self._usage

    def _key(self) -> bytes | None:
        """Under what the answer is kept, if it is."""
        if self._route.cache is None:
            return None
        if not is_repeatable(self._body):
            self._passage.cache = "skip"
            return None
        self._passage.cache = "miss"
        return key_of(self._route.made_for, self._body)

    async def _replayed(self, kept: Kept) -> AsyncGenerator[Object]:
        passage = self._passage
        passage.cache, passage.tier, passage.model = "hit", kept.tier, kept.model
        passage.reason = "cached"
        passage.asked_tokens, passage.answer_tokens = kept.asked_tokens, kept.answer_tokens
        if kept.tier != LOCAL:
            await self._hide(self._body)
        for one in kept.objects:
            yield one

    def _to_keep(self, objects: Sequence[Object]) -> Kept:
        passage = self._passage
        return Kept(
            tier=passage.tier,
            model=passage.model,
            objects=objects,
            asked_tokens=passage.asked_tokens,
            answer_tokens=passage.answer_tokens,
        )

    async def _asked(self) -> AsyncGenerator[Object]:
        route, passage = self._route, self._passage
        if route.guard is not None:
            passage.guard = await self._work(route.guard.look, self._body)
        choice = Choice(UP, "")
        if route.decider is not None:
            choice = await self._work(route.decider.choose, self._body)
        passage.reason = choice.reason
        if choice.text is None:
            called = self._called(self._names(choice.tier))
        else:
            called = self._said(choice.text, choice.usage)
        async with aclosing(called):
            async for one in called:
                yield one

    async def _said(self, text: str, usage: Usage) -> AsyncGenerator[Object]:
        """An answer that the local model has given already."""
        passage, model = self._passage, self._tiers[LOCAL].model
        passage.tier, passage.model = LOCAL, model
        counted = replace(usage, forced_tokens=0, sampled_tokens=self._count(text))
        for one in said(text, model, counted, streamed=self._streamed):
            yield one

    def _names(self, chosen: str) -> list[str]:
        """The tiers to be tried, in order."""
        call = self._route.call
        if chosen == UP:
            return [*call]
        after = call[call.index(chosen) + 1 :] if chosen in call else call
        return [chosen, *after]

    async def _called(self, names: Sequence[str]) -> AsyncGenerator[Object]:
        """The answer of the first of these tiers that gives one."""
        *others, last = names
        for name in others:
            answer = self._of_tier(name)
            try:
                first = await anext(answer)
            except VedetteError as error:
                if not _may_fall_back(name, error):
                    raise
                self._passage.reason = f"{self._passage.reason} fallback:{error.code}".strip()
                continue
            async with aclosing(answer):
                yield first
                async for one in answer:
                    yield one
            return
        async with aclosing(self._of_tier(last)) as answer:
            async for one in answer:
                yield one

    async def _of_tier(self, name: str) -> AsyncGenerator[Object]:
        tier, passage = self._tiers[name], self._passage
        body = self._body if name == LOCAL else await self._outgoing()
        passage.tier, passage.model = name, tier.model
        if not self._streamed:
            yield await tier.whole(body)
            return
        n_chunks = 0
        async with aclosing(tier.stream(body)) as chunks:
            async for chunk in chunks:
                n_chunks += 1
                yield chunk
        if not n_chunks:
            raise ServerFailed(f"the tier {name} sent an empty stream")

    async def _outgoing(self) -> Object:
        """The body as it leaves, made once for all tiers."""
        if self._sent is None:
            body = await self._hide(self._body)
            if self._route.compressor is not None:
                shorten = self._route.compressor.shorten
                body, self._passage.cut_tokens = await self._work(shorten, body)
            self._sent = body
        return self._sent

    async def _hide(self, body: Object) -> Object:
        hider = self._route.hider
        if hider is None:
            return body
        hidden = await self._work(hider.hide, body)
        self._passage.hidden = len(hidden.mapping)
        self._mapping = hidden.mapping if hider.restores else {}
        return hidden.body

    def _shown(self, one: Object) -> Object | None:
        """The object as the client gets it; None where it did not ask for it."""
        if self._mapping and self._passage.tier != LOCAL:
            if self._restoring is None:
                self._restoring = Restoring(self._mapping, is_json=is_json_asked(self._body))
            one = self._restoring.chunk(one) if self._streamed else self._restoring.whole(one)
        if not self._streamed or wants_usage(self._body):
            return one
        if one.get("usage") is not None and not one["choices"]:
            return None
        return {name: value for name, value in one.items() if name != "usage"}


def _may_fall_back(name: str, error: VedetteError) -> bool:
    """Whether another tier is to be asked.

    Where the local model fails at what it can do, that is an error: a broken small model must not
    send everything to one that costs money.
    """
    if name == LOCAL:
        return isinstance(error, InputError | CapabilityMissing | Overloaded)
    return isinstance(error, ServerError) and not isinstance(error, AnswerInterrupted)
