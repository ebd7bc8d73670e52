"""A calibrated classification behind a gate, on two scripted tiers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from scripted import WordBackend, completion, scores

from vedette.backends.tiers import Tiers
from vedette.decide.calibration import Calibration, Promise, calibrate
from vedette.decide.risk import Threshold
from vedette.tasks.calibrations import Calibrations
from vedette.tasks.classify import QUESTION, Classify
from vedette.tasks.gate import Gate, GatedClassify
from vedette.tasks.labels import Label
from vedette.types import Request

SMALL, LARGE = "small-model", "large-model"


class Tier(WordBackend):
    """A scripted backend with a name. What it is asked to check is remembered."""

    width = 1

    def __init__(self, name: str, **capabilities: Any) -> None:
        super().__init__(**capabilities)
        self.name = name
        self.identity = {"model": name}
        self.counts: dict[str, int] = {}
        self.checked: list[object] = []
        self.closed = 0

    def check(self, ask: object) -> None:
        self.checked.append(ask)

    def close(self) -> None:
        self.closed += 1


def tiers(**large: Any) -> Tiers:
    return Tiers([Tier(SMALL), Tier(LARGE, **large)])


def calibration(above: float | None = 0.8, **changes: Any) -> Calibration:
    """Fitted on rows that are right as often as they are sure, and even between the choices.

    Keeps what is over 0.8, having promised at most 10% wrong.
    """
    rows = [[math.log(p), math.log(1 - p)] for p in (0.9, 0.1)] * 50
    right = [number % 2 if number >= 10 else 1 - number % 2 for number in range(100)]
    fitted = calibrate(("good", "bad"), rows, right, Promise(alpha=0.1, delta=0.05))
    made = replace(
        fitted,
        threshold=None if above is None else Threshold(above, 0.09, 100, 4, 200),
        histogram=(0, 0, 0, 0, 0, 0.1, 0.1, 0.1, 0.2, 0.5),
        n_rows=200,
    )
    return replace(made, **changes)


def gate(audit: float = 0.0, one: Calibration | None = None, **options: Any) -> Gate:
    bare = Classify((Label("good"), Label("bad")))
    key = bare.key(Tier(SMALL))
    known = Calibrations("classify", key, {QUESTION: one or calibration()})
    return Gate(GatedClassify(replace(bare, calibrations=known)), audit=audit, **options)


def answering(small: float, large: float | str):
    """The small model says good with the probability `small`; so does the large one, or writes."""

    def respond(ask):
        p = large if ask.tier else small
        if isinstance(ask, Request):
            return completion(p)
        return scores(math.log(p), math.log(1 - p))

    return respond
