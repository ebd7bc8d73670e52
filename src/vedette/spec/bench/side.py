"""What is compared: variants of one thing that answers prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from vedette.types import Json

from .prompts import BenchPrompt
from .sample import Sample

Asked: TypeAlias = Literal["", "draft", "ngram"]


@dataclass(frozen=True, slots=True)
class Variant:
    """One way of answering. `how` says what it is; `asked` which guesses it is certain to want."""

    name: str
    how: str
    asked: Asked = ""


@dataclass(frozen=True, slots=True)
class Gap:
    """Where two answers part: tokens before it, and how far the two best logits lie apart there.

    `logit_gap` is None where it cannot be found out.
    """

    n_same: int
    logit_gap: float | None


class Side(Protocol):
    """Answers one prompt at a time, as one of its variants; the first one is the baseline."""

    @property
    def variants(self) -> tuple[Variant, ...]:
        """In the order in which they were given."""
        ...

    @property
    def identity(self) -> dict[str, Json]:
        """What figures depend on besides variant and prompt."""
        ...

    @property
    def block(self) -> int:
        """So many prompts are asked of one variant before the next has its turn."""
        ...

    def ask(self, variant: Variant, prompt: BenchPrompt) -> Sample:
        """One answer. Raises `VedetteError` where there is none."""
        ...

    def gap(self, prompt: BenchPrompt, base: Sample, other: Sample) -> Gap:
        """How sure the baseline was where another variant's answer leaves its own. Not timed."""
        ...


def n_common(left: Sequence[object], right: Sequence[object]) -> int:
    """How many characters, or tokens, both begin with."""
    most = min(len(left), len(right))
    return next((i for i in range(most) if left[i] != right[i]), most)
