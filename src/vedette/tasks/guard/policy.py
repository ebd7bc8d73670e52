"""A policy: what a text is held against, all of it data."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import cast

from vedette.redaction.redactor import Redactor
from vedette.types import Json

from .normalise import Normalised
from .probe import Probe


@dataclass(frozen=True, slots=True)
class Rule:
    """What to find, and what finding it is worth.

    It is a regular expression over the folded text or, with `kinds`, what the rules of redaction
    find of these kinds in the text as it is.
    """

    name: str
    weight: float
    pattern: str = ""
    kinds: tuple[str, ...] = ()

    def matches(self, text: str, folded: Normalised) -> list[tuple[int, int]]:
        """`[start, end)` in the text of every match that is not empty."""
        if self.kinds:
            found = _redactor(self.kinds).find(text)
            return [(span.start, span.end) for span in found if span.kind in self.kinds]
        spans = (match.span() for match in re.finditer(self.pattern, folded.text, re.IGNORECASE))
        return [folded.span(start, end) for start, end in spans if end > start]


@lru_cache(maxsize=64)
def _redactor(kinds: tuple[str, ...]) -> Redactor:
    return Redactor.of(kinds)


@dataclass(frozen=True, slots=True)
class Weights:
    """A logistic score: how much the rules and the model's log odds count, and where it flags.

    Log odds count up to `limit` either way, and not below `least`, so that rules can settle what no
    answer of the model would change; with `least` 0 it can add to what rules find and take nothing
    away. Without a model `model` is 0. The sentences of a window whose score is in `grey`
    are read one by one too.
    """

    bias: float
    rules: float
    threshold: float
    model: float = 0.0
    limit: float = math.inf
    least: float = -math.inf
    grey: tuple[float, float] = (0.0, 1.0)

    def score(self, rules: float, log_odds: float) -> float:
        """In (0, 1)."""
        bounded = max(-self.limit, self.least, min(self.limit, log_odds))
        value = self.bias + self.rules * rules + self.model * bounded
        return 1 / (1 + math.exp(-max(-60.0, min(60.0, value))))

    def is_settled(self, rules: float) -> bool:
        """Whether the verdict is the same whatever the model says."""
        if not self.model:
            return True
        least, most = self.score(rules, -math.inf), self.score(rules, math.inf)
        return least > self.threshold or most <= self.threshold


@dataclass(frozen=True, slots=True)
class KnownModel:
    """What labelled texts gave for one model file under the policy as it is.

    With a probe, that reads the model's embedding of the text; without, it is asked yes or no.
    """

    name: str
    sha256: str
    weights: Weights
    probe: Probe | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What is looked for: rules, the question for the model, and how both are weighed.

    The model is shown `description`, then `examples` and `counterexamples` in turn. `with_model`
    are the weights for a model that is not among `known_models`; they need a threshold of one's
    own. What `allow` matches counts for nothing. `hidden_weight` is what it counts that words are
    hidden in code.
    """

    id: str
    description: str
    question: str
    examples: tuple[str, ...] = ()
    counterexamples: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    rules_only: Weights
    with_model: Weights
    known_models: tuple[KnownModel, ...] = ()
    allow: tuple[str, ...] = field(default=())
    hidden_weight: float = 0.0

    def known(self, sha256: Json) -> KnownModel | None:
        """What is known of a model, by the hash of its file."""
        return next((one for one in self.known_models if one.sha256 == sha256), None)

    @property
    def identity(self) -> dict[str, Json]:
        """All of it: a score depends on it."""
        return cast(dict[str, Json], asdict(self))
