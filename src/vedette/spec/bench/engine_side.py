"""The in-process engine: ways of guessing compared request by request within one engine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from vedette.backends.local import LocalBackend, options_of
from vedette.config import Settings
from vedette.engine.speculation.policy import Policy
from vedette.errors import EngineFailed, InputError
from vedette.types import Completion, Constraint, Json, Message, Prompt, Request, TokenLogprob

from .prompts import SYSTEM, BenchPrompt
from .sample import Sample
from .side import Asked, Gap, Variant, n_common


class EngineSide:
    """Implements `Side` on an engine of its own; close it after use.

    Every request reads its whole prompt: beginnings are not shared between requests. Raises
    `InputError` for policies that cannot be.
    """

    block = 1

    def __init__(self, settings: Settings, policies: Sequence[str], max_tokens: int) -> None:
        self._variants = tuple(_variants(policies, has_draft=settings.draft is not None))
        self._max_tokens = max_tokens
        options = replace(options_of(settings), width=1, share_prefixes=False)
        self._has_draft = options.draft is not None
        self._drafted: set[str] = set()
        self._replays: dict[str, Completion] = {}
        self._backend = LocalBackend(settings.model, options)
        self._settings = settings

    @property
    def variants(self) -> tuple[Variant, ...]:
        """A variant for each policy."""
        return self._variants

    @property
    def identity(self) -> dict[str, Json]:
        """Model, draft, and what else changes times."""
        return {
            "side": "in-process",
            "model": self._backend.name,
            "model_sha256": self._backend.sha256,
            "draft": self._settings.draft,
            "kv_type": self._settings.kv_type,
            "threads": self._settings.thread_count,
            "max_tokens": self._max_tokens,
        }

    def ask(self, variant: Variant, prompt: BenchPrompt) -> Sample:
        """See `Side.ask`."""
        policy = Policy.of(variant.how)
        if self._has_draft and policy.source != "ngram" and policy.kind != "off":
            self._have_draft_forget(prompt)
        began = time.perf_counter()
        done = self._complete(self._request(prompt, variant.how))
        return _sample(variant.name, prompt, done, time.perf_counter() - began)

    def _request(self, prompt: BenchPrompt, speculate: str) -> Request:
        messages = (Message("system", SYSTEM), Message("user", prompt.text))
        return Request(
            prompt=Prompt(messages=messages), max_tokens=self._max_tokens, speculate=speculate
        )

    def _complete(self, request: Request) -> Completion:
        return self._backend.submit(request).result()

    def _have_draft_forget(self, prompt: BenchPrompt) -> None:
        """See to it that the draft, too, reads the prompt anew.

        It keeps what it has read for the next sequence that begins likewise, and here that is the
        same prompt for another variant. A sequence that may take up all its cells drives out the
        rest.
        """
        if prompt.id not in self._drafted:
            self._drafted.add(prompt.id)
            return
        engine = self._backend.engine
        cells = min(engine.options.cells, engine.max_context_tokens)
        text = "0123456789"
        request = Request(
            prompt=Prompt(raw=text),
            constraint=Constraint("regex", "[0-9]{8}"),
            max_tokens=cells - self._backend.count_tokens(text) - 2,
            speculate="draft:1",
        )
        done = self._complete(request)
        if done.speculation is None or not done.speculation.guessed:
            raise EngineFailed("the draft's cache could not be cleared between two requests")

    def gap(self, prompt: BenchPrompt, base: Sample, other: Sample) -> Gap:
        """See `Side.gap`: the answer is written once more without guesses, with logprobs."""
        n_same = self._n_chars_alike(base.text, other.text)
        if prompt.id not in self._replays:
            request = replace(self._request(prompt, "off"), logprobs=True)
            self._replays[prompt.id] = self._complete(request)
        done = self._replays[prompt.id]
        place = _token_at(done.logprobs, n_same)
        if place is None:
            return Gap(len(done.logprobs), None)
        same = done.text[:n_same] == base.text[:n_same]
        return Gap(place, done.logprobs[place].runner_up_gap if same else None)

    def _n_chars_alike(self, base: str, other: str) -> int:
        """Characters of the tokens that both begin with.

        Texts can part later than their tokens: "Merge two" and "Merges two" do with the first one.
        """
        tokenizer = self._backend.engine.tokenizer
        left, right = tokenizer.encode_text(base), tokenizer.encode_text(other)
        known = b"".join(tokenizer.piece(one) for one in left[: n_common(left, right)])
        return min(len(known.decode("utf-8", "ignore")), n_common(base, other))

    def close(self) -> None:
        """Free the engine."""
        self._backend.close()


def _variants(policies: Sequence[str], *, has_draft: bool) -> list[Variant]:
    if len(policies) < 2:
        raise InputError(
            f"--policies is {','.join(policies)!r}; a comparison needs two",
            hint="for example off,auto; the first one is the baseline",
        )
    made: list[Variant] = []
    for text in policies:
        policy = Policy.of(text)
        if policy.source == "draft" and not has_draft:
            raise InputError(f"{text} needs a draft model", hint="name one with --draft")
        asked: Asked = "draft" if policy.source == "draft" else ""
        n_before = sum(one.how == text for one in made)
        made.append(Variant(f"{text} ({n_before + 1})" if n_before else text, text, asked))
    return made


def _sample(variant: str, prompt: BenchPrompt, done: Completion, wall_s: float) -> Sample:
    told = done.speculation
    assert told is not None, "the engine tells of every answer"
    return Sample(
        variant=variant,
        workload=prompt.workload,
        prompt=prompt.id,
        seconds=done.timings.decode_ms / 1e3,
        wall_s=wall_s,
        # The first token comes with the prompt's last step, before the time of writing begins.
        tokens=done.usage.completion_tokens - 1,
        steps=max(0, told.steps - 1),
        guessed=told.guessed,
        right=told.right,
        positions=told.by_position,
        text=done.text,
        verdict=told.verdict,
    )


def _token_at(tokens: Sequence[TokenLogprob], n_chars: int) -> int | None:
    """The token that holds this character of the text."""
    end = 0
    for i, token in enumerate(tokens):
        end += len(token.text)
        if end > n_chars:
            return i
    return None
