"""All that a comparison has found."""

from __future__ import annotations

from dataclasses import dataclass

from vedette.types import Json

from .comparison import OVERALL, Comparison, compare
from .divergence import Divergence, divergences
from .run import Run
from .side import Side, Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Variants, the first being the baseline, and how they compare.

    `why_ended` is empty where all prompts were asked. `no_ops` names the variants that were
    to guess and did not, with the reason.
    """

    identity: dict[str, Json]
    variants: tuple[Variant, ...]
    comparisons: tuple[Comparison, ...]
    divergences: tuple[Divergence, ...]
    no_ops: dict[str, str]
    n_prompts: int
    seconds: float
    why_ended: str
    is_interrupted: bool

    def of(self, variant: str, workload: str = "") -> Comparison:
        """One comparison; without a workload the one over all. Raises `KeyError`."""
        own = [one for one in self.comparisons if one.variant == variant]
        wanted = workload or (OVERALL if len(own) > 1 else own[0].workload if own else "")
        found = next((one for one in own if one.workload == wanted), None)
        if found is None:
            raise KeyError((variant, workload))
        return found

    @property
    def workloads(self) -> tuple[str, ...]:
        """In the order in which they were asked; `overall` last, where there are several."""
        return tuple(dict.fromkeys(one.workload for one in self.comparisons))

    def as_dict(self) -> dict[str, Json]:
        """As JSON."""
        return {
            "measured": self.identity,
            "prompts": self.n_prompts,
            "seconds": round(self.seconds, 1),
            "complete": not self.why_ended,
            "why_ended": self.why_ended or None,
            "baseline": self.variants[0].name,
            "variants": [
                {"name": one.name, "how": one.how, "no_op": self.no_ops.get(one.name)}
                for one in self.variants
            ],
            "comparisons": [one.as_dict() for one in self.comparisons],
            "divergences": [one.as_dict() for one in self.divergences],
        }


def report_of(side: Side, run: Run, seed: int = 0) -> Report:
    """Compare what was measured, and look into answers that differ unless it was interrupted."""
    names = [variant.name for variant in side.variants]
    parted = divergences(side, run, names)  # may be interrupted, which the run then says
    return Report(
        identity=side.identity,
        variants=side.variants,
        comparisons=compare(run, names, seed),
        divergences=parted,
        is_interrupted=run.is_interrupted,
        no_ops=run.no_ops,
        n_prompts=len(run.prompts),
        seconds=run.seconds,
        why_ended=run.why_ended,
    )
