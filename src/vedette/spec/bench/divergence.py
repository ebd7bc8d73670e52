"""Where greedy answers of two variants part, and whether rounding explains it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from vedette.types import Json

from .prompts import BenchPrompt
from .run import Run
from .sample import Sample
from .side import Gap, Side, n_common

TIE = 0.1
"""Logits nearer than this change places with the shape of a batch (in nats)."""
SUSPECT = 1.0
"""Between this and a tie, it may be that kernels for one token and for several round differently:
llama.cpp's own speculation was seen to part at gaps up to 0.4 with Q4_K_M weights."""
MOST_LOOKED_INTO = 100
SHOWN_CHARS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """Two answers to one prompt that begin alike and go on differently.

    `logit_gap` is how far the baseline's two best tokens lay apart there; None if that could not
    be found out, or was not looked into (`MOST_LOOKED_INTO` are).
    """

    variant: str
    prompt: str
    n_same_tokens: int | None
    logit_gap: float | None
    baseline: str
    other: str

    @property
    def words(self) -> str:
        """What to think of it."""
        if self.logit_gap is None:
            return "the gap is not known"
        if self.logit_gap < TIE:
            return f"a tie (gap {self.logit_gap:.3f}): rounding decided"
        if self.logit_gap < SUSPECT:
            return (
                f"gap {self.logit_gap:.2f}: wide for rounding, though quantised weights can do it"
            )
        return f"gap {self.logit_gap:.2f}: more than rounding explains"

    def as_dict(self) -> dict[str, Json]:
        """As JSON."""
        return {**asdict(self), "words": self.words}


def divergences(side: Side, run: Run, names: Sequence[str]) -> tuple[Divergence, ...]:
    """The first difference of every variant's answer from the baseline's, prompt by prompt.

    An interrupt meanwhile leaves the gaps of the rest unknown.
    """
    found: list[Divergence] = []
    for prompt in run.prompts:
        base = run.of(names[0], prompt)
        for name in names[1:]:
            other = run.of(name, prompt)
            if other.text == base.text:
                continue
            looks = len(found) < MOST_LOOKED_INTO and not run.is_interrupted
            gap = _gap(side, run, prompt, base, other) if looks else None
            at = n_common(base.text, other.text)
            found.append(
                Divergence(
                    variant=name,
                    prompt=prompt.id,
                    n_same_tokens=gap.n_same if gap else None,
                    logit_gap=gap.logit_gap if gap else None,
                    baseline=base.text[at : at + SHOWN_CHARS],
                    other=other.text[at : at + SHOWN_CHARS],
                )
            )
    return tuple(found)


def _gap(side: Side, run: Run, prompt: BenchPrompt, base: Sample, other: Sample) -> Gap | None:
    try:
        return side.gap(prompt, base, other)
    except KeyboardInterrupt:
        run.is_interrupted = True
        run.why_ended = run.why_ended or "it was interrupted while looking into differences"
        return None
