"""From log odds to a route, with its reason; and the refusal of tasks that cross a red line."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from vedette.errors import RedLine
from vedette.types import Json

from .rules import RED_KINDS, SIMPLE, Evidence, load_rules, read, split_input

Where: TypeAlias = Literal["small", "up"]
SHOWN_CHARACTERS = 40  # of the words that a rule found


@dataclass(frozen=True, slots=True)
class Verdict:
    """Where a task goes. `probability` is the chance that it crosses a red line."""

    route: Where
    kind: str
    probability: float
    reason: str

    def as_dict(self) -> dict[str, Json]:
        """As in a result line."""
        return {
            "route": self.route,
            "kind": self.kind,
            "probability": round(self.probability, 4),
            "reason": self.reason,
        }


def judge(evidence: Evidence, model: Mapping[str, float] | None = None) -> Verdict:
    """The verdict of the rules, and of the model where it was asked.

    `model` has its log-probability of each kind, the prior divided out.
    """
    rules = load_rules()
    kind, words, mixture = evidence.kind, evidence.words, rules.rules_only
    score = mixture.bias + mixture.rules * evidence.log_odds
    if model is not None:
        mixture = rules.with_model
        likeliest = max(RED_KINDS, key=lambda one: model[one])
        if evidence.log_odds <= 0:
            kind, words = likeliest, ""
        red = math.log(math.fsum(math.exp(model[one]) for one in RED_KINDS))
        score = mixture.bias + mixture.rules * evidence.log_odds
        score += mixture.model * (red - model[SIMPLE])
    probability = 1 / (1 + math.exp(-score))
    if probability <= mixture.threshold:
        return Verdict("small", SIMPLE, probability, "nothing in it crosses a red line")
    found = f" ({words[:SHOWN_CHARACTERS]!r})" if words else ""
    return Verdict("up", kind, probability, rules.reasons[kind] + found)


def check_tasks(tasks: Iterable[str], *, has_input: bool) -> None:
    """Raise `RedLine` for the first task description or question that crosses a red line.

    By rules alone, before a model is loaded. `has_input`: each row is a text to work on.
    """
    for task in tasks:
        text, pasted = split_input(task)
        evidence = read(text, has_input=has_input or bool(pasted), may_be_long=not pasted)
        verdict = judge(evidence)
        if verdict.route == "up":
            raise RedLine(
                f"a small model is not to be trusted with {text!r}: {verdict.reason}",
                hint="name a larger model by --backend, or give --force to go on all the same",
            )
