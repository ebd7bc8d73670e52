"""Whether the promise still holds for one question: the audit's count, and the drift."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import cast

from vedette.decide.calibration import N_BARS, Calibration
from vedette.decide.drift import Drift, drift
from vedette.decide.risk import error_bound, least_error
from vedette.types import Json


@dataclass(slots=True)
class QuestionChecks:
    """Counts over the answers to one question. Distinct rows are those that were asked."""

    calibration: Calibration
    bars: list[int] = field(default_factory=lambda: [0] * N_BARS)
    n_distinct: int = 0
    n_audited: int = 0
    n_differing: int = 0

    def add(self, told: dict[str, Json], *, repeated: bool) -> None:
        """Count what the gate told of one answer."""
        confidence = cast(float, told["confidence"])
        self.bars[min(N_BARS - 1, max(0, math.ceil(confidence * N_BARS) - 1))] += 1
        if repeated:
            return
        self.n_distinct += 1
        if told["keep"] and "large" in told:
            self.n_audited += 1
            self.n_differing += told["large"] != told["small"]

    @property
    def drift(self) -> Drift:
        """How sure the answers are, against how sure they were on the labelled rows."""
        one = self.calibration
        return drift(one.histogram, one.n_rows, self.bars, self.n_distinct)

    @property
    def differ_at_least(self) -> float:
        """Lower bound on the share of kept answers that differ from the larger model's."""
        return least_error(self.n_differing, self.n_audited, self.calibration.promise.delta)

    @property
    def differ_at_most(self) -> float:
        """Upper bound on that share."""
        return error_bound(self.n_differing, self.n_audited, self.calibration.promise.delta)

    @property
    def keeps_nothing(self) -> bool:
        """Whether no threshold could promise anything."""
        by_choice = self.calibration.by_choice
        limits = [self.calibration.threshold] if by_choice is None else by_choice.values()
        return all(limit is None for limit in limits)

    @property
    def is_audit_alarm(self) -> bool:
        """Whether more differ than may be wrong, beyond chance."""
        return self.differ_at_least > self.calibration.promise.alpha

    def as_dict(self) -> dict[str, Json]:
        """For machines."""
        found = self.drift
        return {
            "audit": {
                "n": self.n_audited,
                "differing": self.n_differing,
                "differ_at_least": round(self.differ_at_least, 4),
                "differ_at_most": round(self.differ_at_most, 4),
                "promised": self.calibration.promise.alpha,
                "alarm": self.is_audit_alarm,
            },
            "drift": {
                "psi": round(found.index, 4),
                "limit": round(found.limit, 4) if math.isfinite(found.limit) else None,
                "alarm": found.is_alarm,
            },
        }

    def audit_fact(self) -> str:
        """What the audit found, in words."""
        promise = self.calibration.promise
        return (
            f"{self.n_audited:,} kept answers asked again, {self.n_differing:,} answered otherwise "
            f"(of all kept: {self.differ_at_least:.1%} to {self.differ_at_most:.1%}); "
            f"at most {promise.alpha:.1%} wrong was promised"
        )

    def notes(self, name: str, large: str) -> list[str]:
        """The alarms."""
        found, promise, told = self.drift, self.calibration.promise, []
        if self.keeps_nothing:
            told.append(f"{name}: no threshold could promise anything, so no answer is kept")
        if self.is_audit_alarm:
            told.append(
                f"alarm, {name}: at least {self.differ_at_least:.1%} of the kept answers are not "
                f"what {large} says, and at most {promise.alpha:.1%} wrong was promised; label "
                "fresh rows and calibrate again"
            )
        if found.is_alarm:
            told.append(
                f"alarm, {name}: answers are not as sure as on the labelled rows (stability index "
                f"{found.index:.2f}, over {found.limit:.2f}), so the promise may not hold here; "
                "label rows of this sort and calibrate again"
            )
        return told
