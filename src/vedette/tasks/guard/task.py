"""Texts held against policies: rules over everything, the model over windows and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from vedette.backends.base import Backend, Identified
from vedette.errors import CapabilityMissing, InputError
from vedette.tasks.base import Steps
from vedette.tasks.calibrations import key_of
from vedette.tasks.prompt_data import text_of
from vedette.types import Answer, Item, Json, Usage

from .evidence import Hit, allowed_spans, densest, hits_of, read, worth
from .policy import KnownModel, Policy, Weights
from .survey import Question, Survey
from .thresholds import GuardThresholds
from .verdict import Verdict, judge, rules_verdict, unread


@dataclass(frozen=True)
class Guard:
    """Implements `Task`: for each text the strongest verdict of the policies.

    Rules read all of the text. What they leave open is put to the model: windows of 512 of its own
    tokens; texts in code are decoded once and read too. A policy that has a probe for the model
    reads its embedding of a window. Else it is asked yes or no and, where a window's score is in
    the grey band, about its sentences one by one. A policy's score is that of its strongest piece.

    The model has a say under policies that know it, or with `thresholds` of its own, which take
    the place of the policies'; otherwise rules alone decide, as with `rules_only`. With `ask_all`
    it is asked even where its answer changes nothing but the score: that is what thresholds are
    made from. Raises `InputError` for no policy, or one that is there twice.
    """

    policies: tuple[Policy, ...]
    rules_only: bool = False
    thresholds: GuardThresholds | None = None
    ask_all: bool = False
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
            "parameters": {"rules_only": self.rules_only, "ask_all": self.ask_all},
        }
        if not self.rules_only:
            found["prompt"] = [text_of("guard", "system"), text_of("guard", "text")]
        if self.thresholds is not None:
            found["thresholds"] = self.thresholds.identity
        return found

    def key(self, backend: Identified) -> str:
        """What thresholds are bound to: the policies, the prompt, the model."""
        return key_of(replace(self, thresholds=None, ask_all=False).identity, backend)

    def may_ask(self, sha256: str | None) -> bool:
        """Whether a model of this hash has a say under any of the policies."""
        if self.rules_only:
            return False
        if self.ask_all or self.thresholds is not None:
            return any(policy.with_model.model for policy in self.policies)
        return any(policy.known(sha256) for policy in self.policies)

    def known(self, policy: Policy, backend: Backend) -> KnownModel | None:
        """What a policy knows of the model, where one is asked."""
        if self.rules_only:
            return None
        # What is known of a model is used for its tuned copy, which agrees with it within bounds.
        identity = backend.identity
        return policy.known(identity.get("tuned_from", identity.get("model_sha256")))

    def weights(self, policy: Policy, backend: Backend) -> Weights:
        """How evidence is weighed under a policy. Without a say the model counts 0."""
        if known := self.known(policy, backend):
            weights = known.weights
        elif not self.rules_only and (self.thresholds is not None or self.ask_all):
            weights = policy.with_model
        else:
            weights = policy.rules_only
        if self.thresholds is not None:
            weights = replace(weights, threshold=self.thresholds.policies[policy.id].above)
        return weights

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        if self.thresholds is not None:
            self.thresholds.check(self.key, backend)
        if not item.text.strip():
            return Answer(value=unread(), extra={"empty": True})
        reading = read(item.text)
        questions = []
        for policy in self.policies:
            allowed = allowed_spans(reading, policy.allow)
            hits = hits_of(policy, reading, allowed)
            known = self.known(policy, backend)
            probe = known.probe if known else None
            questions.append(Question(policy, self.weights(policy, backend), probe, hits, allowed))
        asked = [one for one in questions if self._is_open(one.weights, one.hits)]
        _check(asked, backend)
        survey = Survey(asked, reading, backend)
        usage = (yield from survey.run()) if asked else Usage()
        pieces = {one.policy.id: found for one, found in zip(asked, survey.pieces, strict=True)}
        verdicts = [
            judge(one.policy, pieces[one.policy.id], one.weights)
            if one.policy.id in pieces
            else rules_verdict(one.policy, one.hits, one.weights, len(item.text))
            for one in questions
        ]
        return Answer(value=_value(verdicts, item.text), usage=usage)

    def _is_open(self, weights: Weights, hits: Sequence[Hit]) -> bool:
        """Whether the model is asked."""
        if self.ask_all:
            return weights.model > 0
        return not weights.is_settled(worth(densest(hits)))


def _check(asked: Sequence[Question], backend: Backend) -> None:
    """Raise `CapabilityMissing` for what the backend cannot be asked."""
    can = backend.capabilities
    for question in asked:
        if question.probe is not None and not can.can_embed:
            raise CapabilityMissing(
                f"the policy {question.policy.id!r} reads this model's embeddings, and this "
                "backend has none",
                hint="use --backend local, or --rules-only",
            )
        if question.probe is None and not can.can_score:
            raise CapabilityMissing("guard needs a backend that can score choices, or --rules-only")


def _value(verdicts: Sequence[Verdict], text: str) -> dict[str, Json]:
    """The verdict furthest over its threshold, and with several policies each one's."""
    strongest = max(verdicts, key=lambda one: (one.flagged, one.score - one.threshold))
    value = strongest.as_dict(text)
    if len(verdicts) > 1:
        value["policies"] = {one.policy: one.as_dict(text) for one in verdicts}
    return value
