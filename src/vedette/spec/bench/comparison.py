"""A variant against the baseline: on each workload, and over all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vedette.types import Json

from .interval import CONFIDENCE, Figures, Interval, interval
from .prompts import BenchPrompt
from .run import Run
from .sample import Sample

OVERALL = "overall"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One variant on one workload, or over all (`OVERALL`).

    `speed` is in tokens/s. `writing` compares the time of writing, `whole` that of whole requests,
    the prompt included; both are None for the baseline itself. `positions` are (checked, right) of
    the first guess of a step, the second and so on.
    """

    variant: str
    workload: str
    n_prompts: int
    speed: float
    writing: Interval | None
    whole: Interval | None
    guessed: int
    right: int
    tokens_per_step: float
    positions: tuple[tuple[int, int], ...]

    @property
    def acceptance(self) -> float | None:
        """The share of guesses that were right; None where there were none."""
        return self.right / self.guessed if self.guessed else None

    @property
    def verdict(self) -> str:
        """In words."""
        return "baseline" if self.writing is None else self.writing.words

    def as_dict(self) -> dict[str, Json]:
        """As JSON."""
        return {
            "variant": self.variant,
            "workload": self.workload,
            "prompts": self.n_prompts,
            "tokens_per_s": round(self.speed, 2),
            "writing": _as_json(self.writing),
            "whole_request": _as_json(self.whole),
            "guessed": self.guessed,
            "right": self.right,
            "tokens_per_step": round(self.tokens_per_step, 3),
            "by_position": [[n, of] for n, of in self.positions],
        }


def _as_json(found: Interval | None) -> Json:
    if found is None:
        return None
    return {
        "ratio": round(found.ratio, 4),
        "low": round(found.low, 4),
        "high": round(found.high, 4) if math.isfinite(found.high) else None,
        "confidence": CONFIDENCE,
        "verdict": found.kind,
        "words": found.words,
    }


def compare(run: Run, names: Sequence[str], seed: int = 0) -> tuple[Comparison, ...]:
    """Every variant on every workload and over all; the first name is the baseline's."""
    workloads: dict[str, list[BenchPrompt]] = {}
    for prompt in run.prompts:
        workloads.setdefault(prompt.workload, []).append(prompt)
    if not workloads:
        return ()
    groups = {name: [own] for name, own in workloads.items()}
    if len(groups) > 1:
        groups[OVERALL] = list(workloads.values())
    return tuple(
        _compared(run, names[0], name, workload, parts, seed)
        for name in names
        for workload, parts in groups.items()
    )


def _compared(
    run: Run, baseline: str, name: str, workload: str, parts: list[list[BenchPrompt]], seed: int
) -> Comparison:
    samples = [run.of(name, prompt) for part in parts for prompt in part]
    is_baseline = name == baseline
    tokens = sum(sample.tokens for sample in samples)
    steps = sum(sample.steps for sample in samples)
    return Comparison(
        variant=name,
        workload=workload,
        n_prompts=len(samples),
        speed=tokens / max(1e-9, sum(sample.seconds for sample in samples)),
        writing=None if is_baseline else interval(_figures(run, baseline, name, parts), seed),
        whole=None
        if is_baseline
        else interval(_figures(run, baseline, name, parts, whole=True), seed),
        guessed=sum(sample.guessed for sample in samples),
        right=sum(sample.right for sample in samples),
        tokens_per_step=tokens / steps if steps else 0.0,
        positions=_positions(samples),
    )


def _figures(
    run: Run, baseline: str, name: str, parts: list[list[BenchPrompt]], *, whole: bool = False
) -> list[Figures]:
    """Answers of one token or none have no time of writing; they count as next to nothing."""

    def row(sample: Sample) -> tuple[float, float]:
        seconds = sample.wall_s if whole else sample.seconds
        return max(sample.tokens, 1e-6), max(seconds, 1e-6)

    return [
        np.array([(*row(run.of(baseline, p)), *row(run.of(name, p))) for p in part])
        for part in parts
    ]


def _positions(samples: Sequence[Sample]) -> tuple[tuple[int, int], ...]:
    longest = max((len(sample.positions) for sample in samples), default=0)
    sums = [[0, 0] for _ in range(longest)]
    for sample in samples:
        for i, (checked, right) in enumerate(sample.positions):
            sums[i][0] += checked
            sums[i][1] += right
    return tuple((checked, right) for checked, right in sums)
