"""The examination: what was found, what could not be, and what to do about it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vedette.config import Origin, Settings, config_file, names
from vedette.errors import EngineFailed, ModelNotFound, VedetteError
from vedette.models.catalogue import Listed, catalogue
from vedette.models.gguf_facts import read_facts
from vedette.models.locate import Weights, locate
from vedette.models.memory import estimate_memory
from vedette.models.units import human_bytes
from vedette.types import Json

from .build import Build, advice, installed_build
from .machine import Machine, Memory, this_machine, versions
from .timings import Measurement
from .verdict import Verdict, judge

BUSY_LOAD = 1.0  # processes for each CPU of the machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """A setting as a command started here would use it."""

    name: str
    value: Json
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What there is, before anything is measured. `problems` are what could not be looked at."""

    machine: Machine
    versions: dict[str, str]
    build: Build | None
    models: tuple[Listed, ...]
    config_file: Path | None
    settings: tuple[Configured, ...]
    warnings: tuple[str, ...]
    problems: tuple[VedetteError, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """Findings and, where it could be had, the measurement with its verdict."""

    findings: Findings
    model: str
    measurement: Measurement | None = None
    verdict: Verdict | None = None
    problem: VedetteError | None = None

    def as_dict(self) -> dict[str, object]:
        """One object for machines; dataclasses and paths in it are left to the encoder."""
        found = self.findings
        return {
            "machine": found.machine,
            "versions": found.versions,
            "build": found.build,
            "models": [row for row in found.models if row.path is not None],
            "config_file": found.config_file,
            "settings": {
                each.name: {"value": each.value, "origin": each.origin} for each in found.settings
            },
            "warnings": found.warnings,
            "problems": [error.as_dict() for error in found.problems],
            "model": self.model,
            "measurement": self.measurement,
            "verdict": self.verdict,
            "problem": self.problem.as_dict() if self.problem else None,
        }


def look(settings: Settings) -> Findings:
    """Look at the machine and at what is installed. Computes nothing that takes time."""
    problems: list[VedetteError] = []
    machine, installed = this_machine(settings.home), versions()
    build: Build | None = None
    models: tuple[Listed, ...] = ()
    try:
        build = installed_build(machine.cpu)
    except VedetteError as error:
        problems.append(error)
    try:
        models = tuple(catalogue())
    except VedetteError as error:
        problems.append(error)
    path = config_file()
    return Findings(
        machine=machine,
        versions=installed,
        build=build,
        models=models,
        config_file=path if path.is_file() else None,
        settings=tuple(_configured(settings, name) for name in names()),
        warnings=tuple(_warnings(machine, build, installed, settings)),
        problems=tuple(problems),
    )


def examine(findings: Findings, settings: Settings, *, seconds: float) -> Examination:
    """Measure the configured model for about `seconds`; 0 leaves it out.

    Never fetches and never raises a `VedetteError`: what stood in the way is the `problem`.
    """
    if seconds == 0:
        return Examination(findings=findings, model=settings.model)
    try:
        measured, verdict = _measured(findings, settings, seconds)
    except VedetteError as error:
        problem = _with_alternative(error, findings.models)
        return Examination(findings=findings, model=settings.model, problem=problem)
    return Examination(
        findings=findings, model=settings.model, measurement=measured, verdict=verdict
    )


def check_room(
    weights: Weights,
    memory: Memory | None,
    *,
    cells: int,
    kv_type: str,
    beside_bytes: int = 0,
) -> None:
    """Raise `EngineFailed` for a model that would drive the machine into swapping.

    `beside_bytes` is what is held at the same time. Raises `ModelCorrupt` for a file that is no
    GGUF.
    """
    needed = estimate_memory(read_facts(weights.path), cells, kv_type).total_bytes + beside_bytes
    if memory is not None and needed > memory.available_bytes:
        raise EngineFailed(
            f"the model {weights.name} needs {human_bytes(needed)} of memory and "
            f"{human_bytes(memory.available_bytes)} are available",
            hint="choose a smaller one with --model, or end other programs",
        )


def _measured(
    findings: Findings, settings: Settings, seconds: float
) -> tuple[Measurement, Verdict]:
    weights = locate(settings.model)
    if findings.build is None:
        raise EngineFailed("llama.cpp cannot be loaded, so no model can be measured")
    if findings.build.kind == "foreign":
        raise EngineFailed(
            "this build of llama.cpp needs CPU features that are not there, so nothing is measured",
            hint="build it for this machine, as the warning says",
        )
    from .measure import WIDTHS, measure
    from .probe import CELLS

    check_room(weights, findings.machine.memory, cells=CELLS, kv_type=settings.kv_type)
    measured = measure(
        weights.path,
        seconds=seconds,
        threads=settings.thread_count,
        kv_type=settings.kv_type,
        batch_tokens=settings.batch_tokens,
    )
    return measured, judge(measured, width=settings.width, widths=WIDTHS)


def _with_alternative(error: VedetteError, models: Sequence[Listed]) -> VedetteError:
    """A missing model's hint also names one that is here."""
    here = next((row for row in models if row.path is not None), None)
    if here is None or not isinstance(error, ModelNotFound):
        return error
    other = f"`vedette doctor --model {shlex.quote(here.name)}` measures one that is here"
    return ModelNotFound(error.message, hint=f"{error.hint}; {other}" if error.hint else other)


def _configured(settings: Settings, name: str) -> Configured:
    value = getattr(settings, name)
    plain = str(value) if isinstance(value, Path) else value
    return Configured(name=name, value=plain, origin=settings.origin(name))


def _warnings(
    machine: Machine, build: Build | None, installed: dict[str, str], settings: Settings
) -> list[str]:
    cpu, threads = machine.cpu, settings.thread_count
    found = [advice(build, installed["llama-cpp-python"])] if build else []
    if machine.load is not None and machine.load > BUSY_LOAD * cpu.cpus:
        found.append(
            f"{machine.load:.1f} processes want the {cpu.cpus} CPUs: "
            f"what is measured now is less than the machine can do."
        )
    if cpu.quota_cpus is not None and cpu.quota_cpus < threads:
        found.append(
            f"The container grants the time of {cpu.quota_cpus:g} CPUs to {threads} threads; "
            f"set VEDETTE_THREADS to at most {max(1, int(cpu.quota_cpus))}."
        )
    if threads > cpu.usable_cores:
        found.append(
            f"{threads} threads are set for {cpu.usable_cores} physical cores: "
            f"more threads than cores are mostly slower."
        )
    return [text for text in found if text]
