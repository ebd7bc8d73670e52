"""What was done and what came of it: for people, and as the JSON file beside an adapter."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version

from vedette.types import Json

from .lessons import LeftOut
from .split import Split
from .trainer import Options, Trained
from .verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where model and rows come from: names, and hashes of their files."""

    model: str
    model_sha256: str
    data: str
    data_sha256: str
    is_packed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A training with its verdict. `adapter_sha256` is '' where the adapter was not kept."""

    task: str
    identity: dict[str, Json]
    source: Source
    answered_by: str
    options: Options
    split: Split
    n_lessons: int
    left_out: tuple[LeftOut, ...]
    trained: Trained
    verdict: Verdict
    seconds: dict[str, float]
    out: str
    adapter_sha256: str = ""
    adapter_bytes: int = 0

    @property
    def is_better(self) -> bool:
        """Whether something was learnt, and more answers are right than before."""
        return self.trained.best_epoch > 0 and self.verdict.is_better

    @property
    def is_kept(self) -> bool:
        """Whether there is an adapter."""
        return bool(self.adapter_sha256)

    def as_dict(self) -> dict[str, Json]:
        """One JSON object."""
        source, split, trained = self.source, self.split, self.trained
        return {
            "task": self.task,
            "kept": self.is_kept,
            "adapter": self.out if self.is_kept else None,
            "adapter_sha256": self.adapter_sha256 or None,
            "adapter_bytes": self.adapter_bytes,
            "model": source.model,
            "model_sha256": source.model_sha256,
            "answered_by": self.answered_by,
            "data": source.data,
            "data_sha256": source.data_sha256,
            "rows": {
                "training": len(split.training),
                "validation": len(split.validation),
                "held_back": len(split.held_back),
                "left_out": [{"id": one.row, "why": one.why} for one in self.left_out],
            },
            "lessons": self.n_lessons,
            "options": self.options.as_dict(),
            "values": trained.n_values,
            "epochs": [epoch.as_dict() for epoch in trained.epochs],
            "best_epoch": trained.best_epoch,
            "cut_by_time": trained.is_cut,
            "verdict": self.verdict.as_dict(),
            "seconds": {name: round(value, 1) for name, value in self.seconds.items()},
            "versions": {"vedette": version("vedette"), **trained.versions},
            "asked": self.identity,
        }
