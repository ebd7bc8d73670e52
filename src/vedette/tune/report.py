"""What was measured, what was chosen and why, as data that can be stored, printed and drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue, TypeAdapter, ValidationError

from vedette.errors import FileError, InputError
from vedette.models.tuned import Tuning

from .curves import Curves
from .quality import Agreement, Divergence
from .speed import Gain, Speed


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a copy must keep to: at most `max_kl` nats from the source, at least `min_agreement`
    of the closed questions answered as by the source, at least `margin` less time for an item.
    Raises `InputError` for numbers that bound nothing.
    """

    max_kl: float = 0.1
    min_agreement: float = 0.9
    margin: float = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.max_kl < float("inf"):
            raise InputError(f"max_kl must be above 0, not {self.max_kl}")
        for name in ("min_agreement", "margin"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} must be from 0 to 1, not {getattr(self, name)}")

    def is_faster(self, gain: Gain) -> bool:
        """Whether an item takes less time by the margin."""
        return 1 / gain.item <= 1 - self.margin

    def complaint(self, divergence: Divergence, agreement: Agreement) -> str:
        """What of its quality is out of bounds, in words; '' for nothing."""
        found = []
        if not divergence.kl <= self.max_kl:  # NaN is out of bounds
            found.append(f"KL {divergence.kl:.3f} is above {self.max_kl:g}")
        if agreement.same < self.min_agreement:
            found.append(f"agreement {agreement.same:.1%} is below {self.min_agreement:.1%}")
        return " and ".join(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A way to pack. What is None was not measured: `verdict` says why it went no further."""

    name: str
    size_bytes: int
    packed_s: float
    source: Speed | None = None
    speed: Speed | None = None
    gain: Gain | None = None
    divergence: Divergence | None = None
    agreement: Agreement | None = None
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The chosen weights with other threads or another KV type; its gain is over the setting
    that was asked for."""

    name: str
    speed: Speed
    gain: Gain


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All of it. `chosen` names the way to pack, None where the source stays.

    `curves` are those of the weights that are used from now on, `source_curves` the source's
    where a copy is. `cannot` are settings that this model does not have, with the reason.
    """

    model: str
    source_sha256: str
    source_type: str
    source_bytes: int
    source: Speed
    machine: str
    build: str
    date: str
    threads: int
    kv_type: str
    bounds: Bounds
    tried: tuple[Tried, ...]
    chosen: str | None
    curves: Curves
    source_curves: Curves | None
    by_threads: tuple[Setting, ...]
    by_kv_type: tuple[Setting, ...]
    cannot: tuple[str, ...]
    warnings: tuple[str, ...]
    took_s: float

    @property
    def winner(self) -> Tried | None:
        """The way to pack that was chosen."""
        return next((one for one in self.tried if one.name == self.chosen), None)

    @property
    def refused(self) -> str:
        """What is faster than what is used and out of bounds, in a sentence; '' for nothing."""
        used = self.winner.gain.item if self.winner and self.winner.gain else 1.0
        out = [one for one in self.tried if one.divergence and one.gain and one.name != self.chosen]
        best = max(out, key=lambda one: one.gain.item if one.gain else 0.0, default=None)
        if best is None or best.gain is None or best.gain.item <= used:
            return ""
        return (
            f"{best.name} would be {best.gain.item:.2f} times as fast as {self.source_type}, but "
            f"{best.verdict}; --max-kl and --min-agreement, with --fresh, say what is accepted."
        )

    @property
    def conclusion(self) -> str:
        """What to do from now on, in a sentence."""
        if self.winner is None:
            best = max((one.gain.item for one in self.tried if one.gain), default=0.0)
            why = (
                f"nothing within the bounds is faster by {self.bounds.margin:.0%}"
                if best * (1 - self.bounds.margin) >= 1
                else "no other packing is faster here"
            )
            return f"{self.source_type} stays: {why}."
        gain = self.winner.gain
        assert gain is not None
        return (
            f"{self.winner.name} is used from now on: {gain.prefill:.2f} times the prefill rate, "
            f"{gain.alone:.2f} times the decode rate of one sequence, {gain.together:.2f} of eight."
        )

    def as_dict(self) -> dict[str, JsonValue]:
        """As it is stored, and printed for machines."""
        return cast(dict[str, JsonValue], _REPORT.dump_python(self, mode="json"))


_REPORT = TypeAdapter(Report)


def report_of(tuning: Tuning) -> Report:
    """The report of an earlier run. Raises `FileError` for one that this version does not read."""
    try:
        return _REPORT.validate_python(tuning.report)
    except ValidationError as error:
        raise FileError(
            f"what was stored about {tuning.name} is not a report of this version",
            hint=f"`vedette tune {tuning.name} --fresh` measures again",
        ) from error
