"""T(n) of the models on this machine: what `vedette tune` kept, or measured for some seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vedette.doctor.measure import measure
from vedette.engine.curve import CostCurve
from vedette.models import tuned
from vedette.models.fingerprint import file_sha256
from vedette.models.tuned import Tuning
from vedette.spec.machine import Measured
from vedette.spec.model_file import ModelFile, read_model


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """How models are measured: seconds for each, CPU threads, type of the cache.

    With `use_tuned` a copy that `vedette tune` made is planned for in the model's place.
    """

    seconds: float
    threads: int
    kv_type: str
    use_tuned: bool


def measured_models(
    models: Sequence[ModelFile], conditions: Conditions
) -> tuple[list[ModelFile], Measured]:
    """The target, and the draft if there is one, each as it is planned for, with their T(n).

    Curves that were kept under the same conditions are used if every model has one; else all are
    loaded and measured, since what was measured on another day cannot be set against today. Raises
    `FileError` or `HashMismatch` for what was kept and is damaged, `ModelCorrupt` or
    `EngineFailed` if a model cannot be loaded.
    """
    planned = [_planned(model, conditions) for model in models]
    kept = [tuning for _, tuning in planned if tuning is not None]
    if len(kept) == len(planned):
        origins = [f"measured by vedette tune on {one.threads} threads, {one.date}" for one in kept]
        curves = [CostCurve(one.tokens) for one in kept]
    else:
        origins = [f"measured here on {conditions.threads} threads"]
        curves = [_curve(model, conditions) for model, _ in planned]
    measured = Measured(
        where="; ".join(dict.fromkeys(origins)),
        target=curves[0],
        draft=curves[1] if len(curves) > 1 else None,
    )
    return [model for model, _ in planned], measured


def _planned(model: ModelFile, conditions: Conditions) -> tuple[ModelFile, Tuning | None]:
    """The model that is planned for, and what was kept of it under the same conditions."""
    tuning = _kept(model)
    if tuning is not None and tuning.copy is not None:
        if conditions.use_tuned:
            copy = read_model(str(tuned.checked_path(tuning)))
            model = replace(copy, name=f"{model.name}, tuned ({tuning.copy.type})")
        else:
            tuning = None  # its curve is the copy's
    same = (conditions.threads, conditions.kv_type)
    if tuning is not None and (tuning.threads, tuning.kv_type) != same:
        tuning = None
    return model, tuning


def _curve(model: ModelFile, conditions: Conditions) -> CostCurve:
    found = measure(
        Path(model.where),
        seconds=conditions.seconds,
        threads=conditions.threads,
        kv_type=conditions.kv_type,
    )
    return CostCurve.of({pace.tokens: pace.step_ms / 1000 for pace in found.decode})


def _kept(model: ModelFile) -> Tuning | None:
    """What was found for the file; its hash is computed only where something was kept."""
    return tuned.find(file_sha256(Path(model.where))) if tuned.any_stored() else None
