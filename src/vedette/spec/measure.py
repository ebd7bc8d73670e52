"""T(n) of the models on this machine, measured for some seconds."""

from __future__ import annotations

from pathlib import Path

from vedette.doctor.measure import measure
from vedette.engine.curve import CostCurve
from vedette.spec.machine import Measured


def measure_steps(
    target: Path, draft: Path | None, *, seconds: float, threads: int, kv_type: str
) -> Measured:
    """Measure target and draft one after another, about `seconds` each, the loading not counted.

    Raises `ModelCorrupt` or `EngineFailed` if one cannot be loaded.
    """
    curves = [
        _curve(path, seconds=seconds, threads=threads, kv_type=kv_type)
        for path in (target, draft)
        if path is not None
    ]
    return Measured(
        where=f"measured here on {threads} threads",
        target=curves[0],
        draft=curves[1] if len(curves) > 1 else None,
    )


def _curve(path: Path, *, seconds: float, threads: int, kv_type: str) -> CostCurve:
    found = measure(path, seconds=seconds, threads=threads, kv_type=kv_type)
    return CostCurve.of({pace.tokens: pace.step_ms / 1000 for pace in found.decode})
