"""Speeds that a test chooses, where measured ones would be chance."""

from __future__ import annotations

from collections.abc import Sequence

from vedette.doctor.probe import Probe
from vedette.tune.speed import Round

SOURCE_MS = 8.0


class Speeds:
    """Rounds in place of measured ones: the second model is `times` as fast as the first."""

    def __init__(self) -> None:
        self.times = 2.0

    def take_turns(self, probes: Sequence[Probe], seconds: float) -> list[list[Round]]:
        """As `speed.take_turns`."""
        factors = [1.0, self.times, *(1.0 for _ in probes[2:])]
        return [
            [Round(64, *(SOURCE_MS / factor for _ in range(3))) for _ in range(3)]
            for factor, _ in zip(factors, probes, strict=False)
        ]
