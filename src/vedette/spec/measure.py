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

    A curve that was kept under the same conditions is used; else a model is loaded and measured.
    Raises `FileError` or `HashMismatch` for what was kept and is damaged, `ModelCorrupt` or
    `EngineFailed` if a model cannot be loaded.
    """
    found = [_steps(model, conditions) for model in models]
    where = "; ".join(dict.fromkeys(origin for _, _, origin in found))
    curves = [curve for _, curve, _ in found]
    measured = Measured(where=where, target=curves[0], draft=curves[1] if len(curves) > 1 else None)
    return [model for model, _, _ in found], measured


def _steps(model: ModelFile, conditions: Conditions) -> tuple[ModelFile, CostCurve, str]:
    """The model that is planned for, its curve, and where that is from."""
    tuning = _kept(model)
    if tuning is not None and tuning.copy is not None:
        if conditions.use_tuned:
            copy = read_model(str(tuned.checked_path(tuning)))
            model = replace(copy, name=f"{model.name}, tuned ({tuning.copy.type})")
        else:
            tuning = None  # its curve is the copy's
    same = (conditions.threads, conditions.kv_type)
    if tuning is not None and (tuning.threads, tuning.kv_type) == same:
        origin = f"measured by vedette tune on {tuning.threads} threads, {tuning.date}"
        return model, CostCurve(tuning.tokens), origin
    found = measure(
        Path(model.where),
        seconds=conditions.seconds,
        threads=conditions.threads,
        kv_type=conditions.kv_type,
    )
    curve = CostCurve.of({pace.tokens: pace.step_ms / 1000 for pace in found.decode})
    return model, curve, f"measured here on {conditions.threads} threads"


def _kept(model: ModelFile) -> Tuning | None:
    """What was found for the file; its hash is computed only where something was kept."""
    return tuned.find(file_sha256(Path(model.where))) if tuned.any_stored() else None
