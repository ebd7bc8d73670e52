"""What a tuning measures, and for how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .candidates import CANDIDATES, Candidate
from .curves import FEW_SIZES, SIZES
from .quality import MOST_TEXT_TOKENS
from .report import Bounds

FEW_TEXT_TOKENS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is measured, and for how long.

    `seconds` is about the time of the measurements of speed, in all; packing, loading and the
    judgement of quality come on top. `candidates` are tried in this order. A `quick` plan has
    fewer sizes of the curves and a quarter of the text sample.
    """

    threads: int
    kv_type: str = "f16"
    seconds: float = 120.0
    quick: bool = False
    bounds: Bounds = field(default_factory=Bounds)
    candidates: Sequence[Candidate] = CANDIDATES

    @property
    def sizes(self) -> Sequence[int]:
        """Of the curves."""
        return FEW_SIZES if self.quick else SIZES

    @property
    def text_tokens(self) -> int:
        """Read of each text of the sample."""
        return FEW_TEXT_TOKENS if self.quick else MOST_TEXT_TOKENS


def thread_counts(cores: int, cpus: int) -> list[int]:
    """Doublings up to all physical cores, these, and all logical processors."""
    doublings = [1 << i for i in range(cores.bit_length()) if 1 << i <= cores]
    return sorted({*doublings, cores, cpus})
