"""Is the adapted model better? The same rows, before and after."""

from __future__ import annotations

import math
from dataclasses import dataclass

from vedette.types import Json

from .subjects import Marks

SURE = 0.05
"""With more than this the difference may well be one of chance."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Two runs over the same answers."""

    before: Marks
    after: Marks

    @property
    def gained(self) -> int:
        """Answers that were wrong and are right."""
        pairs = zip(self.before.right, self.after.right, strict=True)
        return sum(new and not old for old, new in pairs)

    @property
    def lost(self) -> int:
        """Answers that were right and are wrong."""
        pairs = zip(self.before.right, self.after.right, strict=True)
        return sum(old and not new for old, new in pairs)

    @property
    def is_better(self) -> bool:
        """Whether more answers are right than before."""
        return self.gained > self.lost

    @property
    def chance(self) -> float:
        """How likely so many gains, or more, would be if gains and losses were equally likely.

        The exact sign test on the answers that changed (McNemar 1947), one-sided.
        """
        n = self.gained + self.lost
        return float(sum(math.comb(n, k) for k in range(self.gained, n + 1)) / 2**n)

    @property
    def sentence(self) -> str:
        """The verdict for people."""
        before, after = self.before, self.after
        told = (
            f"right before {before.n_right:,} of {len(before.right):,} ({before.accuracy:.1%}), "
            f"after {after.n_right:,} ({after.accuracy:.1%}): "
            f"{self.gained:,} gained, {self.lost:,} lost"
        )
        if self.is_better and self.chance > SURE:
            told += f"; so much comes by chance too, once in {1 / self.chance:.0f} times"
        return told

    def as_dict(self) -> dict[str, Json]:
        """For the report."""
        return {
            "before": self.before.as_dict(),
            "after": self.after.as_dict(),
            "gained": self.gained,
            "lost": self.lost,
            "chance": round(self.chance, 6),
            "better": self.is_better,
        }
