"""A policy: what a text is held against, all of it data."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass, field
from typing import cast

from vedette.types import Json

from .checks import CHECKS


@dataclass(frozen=True, slots=True)
class Rule:
    """A regular expression over the folded text, and what a match of it is worth.

    `check` names a function of `checks` that the match, or its group `value`, must pass.
    """

    name: str
    pattern: str
    weight: float
    check: str = ""

    def matches(self, text: str) -> list[tuple[int, int]]:
        """`[start, end)` of every match that is not empty and passes the check."""
        found = []
        for match in re.finditer(self.pattern, text, re.IGNORECASE):
            group = "value" if "value" in match.groupdict() else 0
            value = match.group(group) or ""
            if match.group() and (not self.check or CHECKS[self.check](value)):
                found.append(match.span())
        return found


@dataclass(frozen=True, slots=True)
class Weights:
    """A logistic score: how much the rules and the model's log odds count, and where it flags.

    Without a model `model` is 0. A window whose score is in `grey` is read by the sentence too.
    """

    bias: float
    rules: float
    threshold: float
    model: float = 0.0
    grey: tuple[float, float] = (0.0, 1.0)

    def score(self, rules: float, log_odds: float) -> float:
        """In (0, 1)."""
        value = self.bias + self.rules * rules + self.model * log_odds
        return 1 / (1 + math.exp(-max(-60.0, min(60.0, value))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What is looked for: rules, the question for the model, and how both are weighed.

    `examples` and `counterexamples` are shown to the model. What `allow` matches counts for
    nothing. `hidden_weight` is what it counts that words are hidden in code.
    """

    id: str
    description: str
    question: str
    examples: tuple[str, ...] = ()
    counterexamples: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    rules_only: Weights
    with_model: Weights
    allow: tuple[str, ...] = field(default=())
    hidden_weight: float = 0.0

    @property
    def identity(self) -> dict[str, Json]:
        """All of it: a score depends on it."""
        return cast(dict[str, Json], asdict(self))
