"""A side whose answers are written down, and a clock that its requests move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from vedette.spec.bench.prompts import BenchPrompt
from vedette.spec.bench.sample import Sample
from vedette.spec.bench.side import Gap, Variant
from vedette.types import Json

PROMPTS = tuple(
    BenchPrompt(f"{workload}-{i}", workload, f"{workload} {i}")
    for i in range(1, 7)
    for workload in ("copy", "prose")
)


def sample_of(variant: str, prompt: BenchPrompt, seconds: float = 1.0, **more: object) -> Sample:
    """An answer of ten tokens."""
    values: dict[str, object] = {"tokens": 10, "steps": 10, "text": prompt.text, **more}
    return Sample(
        variant=variant,
        workload=prompt.workload,
        prompt=prompt.id,
        seconds=seconds,
        wall_s=seconds + 0.5,
        **values,  # type: ignore[arg-type]
    )


@dataclass
class ScriptedSide:
    """Answers by `answer`; notes who was asked what, and lets a second pass each time."""

    variants: tuple[Variant, ...] = (Variant("plain", "off"), Variant("other", "auto"))
    answer: Callable[[Variant, BenchPrompt], Sample] = lambda v, p: sample_of(v.name, p)
    block: int = 1
    asked: list[tuple[str, str]] = field(default_factory=list)
    looked_into: list[str] = field(default_factory=list)
    now: float = 0.0
    interrupt_after: int | None = None
    identity: dict[str, Json] = field(
        default_factory=lambda: {
            "side": "scripted",
            "model": "none",
            "threads": 1,
            "max_tokens": 10,
        }
    )

    def ask(self, variant: Variant, prompt: BenchPrompt) -> Sample:
        if self.interrupt_after is not None and len(self.asked) >= self.interrupt_after:
            raise KeyboardInterrupt
        self.asked.append((variant.name, prompt.id))
        self.now += 1.0
        return self.answer(variant, prompt)

    def gap(self, prompt: BenchPrompt, base: Sample, other: Sample) -> Gap:
        self.looked_into.append(prompt.id)
        return Gap(3, 0.02)

    def clock(self) -> float:
        return self.now
