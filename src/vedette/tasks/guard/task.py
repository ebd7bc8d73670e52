"""Texts held against policies: rules over everything, the model over windows and sentences."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from weakref import WeakKeyDictionary

from vedette.backends.base import Backend, Result
from vedette.decide.closed import mean_prior
from vedette.errors import CapabilityMissing, InputError
from vedette.tasks.base import Ask, Steps
from vedette.tasks.calibrations import key_of
from vedette.tasks.prompt_data import text_of
from vedette.tasks.reply import scores_of
from vedette.types import Answer, Item, Json, Message

from .asking import content_free, request_for, system_turn
from .evidence import allowed_spans, hits_of, read
from .policy import Policy
from .survey import Priors, Survey
from .thresholds import GuardThresholds
from .verdict import Verdict, judge, nothing, rules_verdict, unread


@dataclass(frozen=True)
class Guard:
    """Implements `Task`: for each text the strongest verdict of the policies.

    Rules read all of the text, the model windows of 512 of its own tokens and, where a
    window's score is in the grey band, its sentences one by one; texts in code are decoded once
    and read too. A policy's score is that of its strongest piece. `rules_only` asks no model.
    `thresholds` take the place of the policies' own. Raises `InputError` for no policy, or one
    that is there twice.
    """

    policies: tuple[Policy, ...]
    rules_only: bool = False
    thresholds: GuardThresholds | None = None
    name: str = field(default="guard", init=False)

    def __post_init__(self) -> None:
        ids = [policy.id for policy in self.policies]
        if not ids:
            raise InputError("there is no policy", hint="give --policy")
        for i, one in enumerate(ids):
            if one in ids[:i]:
                raise InputError(f"the policy {one!r} is there twice", hint="give it once")

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        found: dict[str, Json] = {
            "policies": [policy.identity for policy in self.policies],
            "parameters": {"rules_only": self.rules_only},
        }
        if not self.rules_only:
            found["prompt"] = [self._system.content, text_of("guard", "text"), *content_free()]
        if self.thresholds is not None:
            found["thresholds"] = self.thresholds.identity
        return found

    def key(self, backend: Backend) -> str:
        """What thresholds are bound to: the policies, the prompt, the model."""
        return key_of(replace(self, thresholds=None).identity, backend)

    @cached_property
    def _system(self) -> Message:
        return system_turn(self.policies)

    @cached_property
    def _priors(self) -> WeakKeyDictionary[Backend, list[float]]:
        """Log odds before anything is read, for each policy; measured once for each backend."""
        return WeakKeyDictionary()

    def threshold(self, policy: Policy) -> float:
        """Scores over it are flagged."""
        if self.thresholds is not None:
            return self.thresholds.policies[policy.id].above
        return (policy.rules_only if self.rules_only else policy.with_model).threshold

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        if not self.rules_only and not backend.capabilities.can_score:
            raise CapabilityMissing("guard needs a backend that can score choices, or --rules-only")
        if self.thresholds is not None:
            self.thresholds.check(self.key(backend))
        if not item.text.strip():
            return Answer(value=unread(), extra={"empty": True})
        reading = read(item.text)
        allowed = [allowed_spans(reading, policy.allow) for policy in self.policies]
        hits = [
            hits_of(policy, reading, spans)
            for policy, spans in zip(self.policies, allowed, strict=True)
        ]
        if self.rules_only:
            verdicts = [
                rules_verdict(policy, found, len(item.text), self.threshold(policy))
                for policy, found in zip(self.policies, hits, strict=True)
            ]
            return Answer(value=_value(verdicts, item.text))
        survey = Survey(self.policies, self._system, reading, hits, allowed, backend)
        known = self._priors.get(backend)
        log_priors: Priors = known or (yield from self._measure_priors(backend))
        usage = yield from survey.windows(log_priors)
        usage += yield from survey.sentences(log_priors)
        verdicts = [
            judge(policy, pieces, policy.with_model, self.threshold(policy), has_model=True)
            if pieces
            else nothing(policy, self.threshold(policy), len(item.text))
            for policy, pieces in zip(self.policies, survey.pieces, strict=True)
        ]
        return Answer(value=_value(verdicts, item.text), usage=usage)

    def _measure_priors(
        self, backend: Backend
    ) -> Generator[Sequence[Ask], Sequence[Result], Priors]:
        texts, n = content_free(), len(self.policies)
        results = yield [
            request_for(text, policy, self._system) for text in texts for policy in self.policies
        ]
        rows = [scores_of(result).logprobs for result in results]
        means = [mean_prior(rows[i::n]) for i in range(n)]
        self._priors[backend] = [yes - no for yes, no in means]
        return self._priors[backend]


def _value(verdicts: Sequence[Verdict], text: str) -> dict[str, Json]:
    """The verdict furthest over its threshold, and with several policies each one's."""
    strongest = max(verdicts, key=lambda one: (one.flagged, one.score - one.threshold))
    value = strongest.as_dict(text)
    if len(verdicts) > 1:
        value["policies"] = {one.policy: one.as_dict(text) for one in verdicts}
    return value
