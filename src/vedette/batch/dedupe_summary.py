"""What a search for duplicates found, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass, field

from vedette.types import Json, Usage

from .progress import duration


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupeSummary:
    """Every row is exactly one of representatives, exact, near, model, errors.

    errors: rows that could not be read. grey_pairs: pairs that rules left open; asked: those put
    to the model in this run; unanswered: those that ended in an error. usage: tokens of all pairs.
    """

    rows: int
    representatives: int
    exact: int
    near: int
    model: int
    errors: int
    grey_pairs: int = 0
    asked: int = 0
    unanswered: int = 0
    usage: Usage = field(default_factory=Usage)
    wall_s: float = 0.0
    out: str = "-"
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """For the command line: 0, or 1 with unreadable rows or unanswered pairs."""
        return 1 if self.errors or self.unanswered else 0

    def as_dict(self) -> dict[str, Json]:
        """For `--json`."""
        return {
            "rows": self.rows,
            "representatives": self.representatives,
            "exact": self.exact,
            "near": self.near,
            "model": self.model,
            "errors": self.errors,
            "grey_pairs": self.grey_pairs,
            "asked": self.asked,
            "unanswered": self.unanswered,
            "prompt_tokens": self.usage.prompt_tokens,
            "wall_s": round(self.wall_s, 3),
            "out": self.out,
            "notes": [*self.notes],
        }

    def as_text(self) -> str:
        """Plain lines."""
        lines = [
            f"{self.rows:,} rows, {self.representatives:,} of them different",
            f"  exact duplicates: {self.exact:,}",
            f"  near duplicates: {self.near:,}",
        ]
        if self.grey_pairs:
            lines += [
                f"  the same by the model: {self.model:,}",
                f"  pairs in the grey band: {self.grey_pairs:,} ({self.asked:,} asked now)",
                f"  tokens in: {self.usage.prompt_tokens:,}",
            ]
        if self.errors:
            lines.append(f"  rows that cannot be read: {self.errors:,}")
        if self.unanswered:
            lines.append(f"  pairs without an answer: {self.unanswered:,}")
        lines.append(f"  time: {duration(self.wall_s)}")
        return "\n".join([*lines, *self.notes])
