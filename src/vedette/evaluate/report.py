"""What labelled rows say of a task, in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vedette.decide.reliability import (
    Bin,
    RiskPoint,
    area_under_risk,
    bins,
    brier_score,
    expected_calibration_error,
    risk_coverage,
)
from vedette.decide.risk import Judged
from vedette.types import Json, Usage

MOST_WRONG = 1000  # rows listed; more would bury the report
MOST_POINTS = 200  # of the risk curve


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One row: what is right, what was answered and how surely; `error` where there is none.

    `confidence` is None where the answer was written and not scored. `distance`, of ordered levels
    only, is how far the mean level lies from the right one.
    """

    id: str
    text: str
    right: str
    answer: str | None
    confidence: float | None = None
    kept: bool | None = None
    distance: float | None = None
    error: str = ""

    @property
    def is_right(self) -> bool:
        """Whether the answer is the right one."""
        return self.answer == self.right


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassReport:
    """One label: rows that have it, and how well it is found."""

    label: str
    n: int
    answered: int
    precision: float | None
    recall: float | None
    f1: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptReport:
    """What a threshold file kept: the share of rows, and how many of those are wrong."""

    coverage: float
    n: int
    error: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """An evaluation of closed answers. Rows that ended in an error count as wrong."""

    task: str
    model: str
    data: str
    verdicts: tuple[Verdict, ...]
    labels: tuple[str, ...]
    seconds: float
    usage: Usage = field(default_factory=Usage)

    @property
    def judged(self) -> list[Judged]:
        """Confidence and rightness of the rows whose answer was scored."""
        return [Judged(v.confidence, v.is_right) for v in self.verdicts if v.confidence is not None]

    @property
    def accuracy(self) -> float:
        """Share of right answers among all rows."""
        return sum(v.is_right for v in self.verdicts) / len(self.verdicts)

    @property
    def mae(self) -> float | None:
        """Mean distance of the mean level from the right one; None where there are no levels."""
        distances = [v.distance for v in self.verdicts if v.distance is not None]
        return sum(distances) / len(distances) if distances else None

    @property
    def wrong(self) -> list[Verdict]:
        """Rows with a wrong answer, the surest first: there the question or the label is odd."""
        rows = [v for v in self.verdicts if not v.is_right]
        return sorted(rows, key=lambda v: -(v.confidence or 0.0))

    @property
    def classes(self) -> list[ClassReport]:
        """The labels in order."""
        return [_class_report(label, self.verdicts) for label in self.labels]

    @property
    def kept(self) -> KeptReport | None:
        """What the thresholds did, if there were any."""
        if all(v.kept is None for v in self.verdicts):
            return None
        kept = [v for v in self.verdicts if v.kept]
        n_wrong = sum(not v.is_right for v in kept)
        return KeptReport(
            coverage=len(kept) / len(self.verdicts),
            n=len(kept),
            error=n_wrong / len(kept) if kept else None,
        )

    @property
    def bins(self) -> list[Bin]:
        """Accuracy by confidence."""
        return bins(self.judged)

    @property
    def risk(self) -> list[RiskPoint]:
        """Error against coverage, thinned to at most `MOST_POINTS`."""
        points = risk_coverage(self.judged)
        step = max(1, len(points) // MOST_POINTS)
        return [*points[::step], *([points[-1]] if points and (len(points) - 1) % step else [])]

    def as_dict(self) -> dict[str, object]:
        """One JSON object."""
        judged, usage = self.judged, self.usage
        return {
            "task": self.task,
            "model": self.model,
            "data": self.data,
            "n": len(self.verdicts),
            "errors": sum(bool(v.error) for v in self.verdicts),
            "accuracy": round(self.accuracy, 4),
            "macro_f1": _rounded(_macro_f1(self.classes)),
            **({} if self.mae is None else {"mae": _rounded(self.mae)}),
            "ece": _rounded(expected_calibration_error(judged) if judged else None),
            "brier": _rounded(brier_score(judged) if judged else None),
            "aurc": _rounded(area_under_risk(judged) if judged else None),
            "items_per_s": round(len(self.verdicts) / self.seconds, 3),
            "seconds": round(self.seconds, 2),
            "tokens": usage.prompt_tokens - usage.cached_tokens + usage.completion_tokens,
            "usage": usage,
            "kept": self.kept,
            "per_class": self.classes,
            "calibration": self.bins,
            "risk_coverage": self.risk,
            "wrong": self.wrong[:MOST_WRONG],
        }


def _class_report(label: str, verdicts: Sequence[Verdict]) -> ClassReport:
    n = sum(v.right == label for v in verdicts)
    answered = sum(v.answer == label for v in verdicts)
    hits = sum(v.right == label == v.answer for v in verdicts)
    return ClassReport(
        label=label,
        n=n,
        answered=answered,
        precision=_rounded(hits / answered if answered else None),
        recall=_rounded(hits / n if n else None),
        f1=_rounded(2 * hits / (n + answered) if n else None),
    )


def _macro_f1(classes: Sequence[ClassReport]) -> float | None:
    values = [one.f1 for one in classes if one.f1 is not None]
    return sum(values) / len(values) if values else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def verdict_of(item_id: str, text: str, right: str, answer: Json, error: str = "") -> Verdict:
    """The verdict on a classification's answer: {"label", "probability", "keep"?}."""
    if error or not isinstance(answer, dict):
        return Verdict(id=item_id, text=text, right=right, answer=None, error=error or "no answer")
    label, keep = answer.get("label"), answer.get("keep")
    probability = answer.get("probability")
    return Verdict(
        id=item_id,
        text=text,
        right=right,
        answer=None if label is None else str(label),
        confidence=float(probability) if isinstance(probability, int | float) else None,
        kept=keep if isinstance(keep, bool) else None,
    )
