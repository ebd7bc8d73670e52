"""`vedette spec plan`: whether to guess for a model, on this machine or on one described."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from vedette.cli.console import note, print_json
from vedette.errors import InputError

if TYPE_CHECKING:
    from vedette.spec.hardware import Cpu, Gpu
    from vedette.spec.machine import Machine
    from vedette.spec.measure import Conditions
    from vedette.spec.model_file import ModelFile

SECONDS, MOST_SECONDS = 10.0, 3600
# Beside a GPU of which no CPU is told: two channels of DDR5.
_USUAL_BYTES_PER_S, _USUAL_CORES = 80e9, 8


def plan(
    target: str,
    *,
    draft: str | None = None,
    mmproj: str | None = None,
    gpu: str | None = None,
    vram: str | None = None,
    bandwidth: str | None = None,
    cpu: str | None = None,
    cpu_bandwidth: str | None = None,
    cpu_cores: int | None = None,
    ram: str | None = None,
    context: int = 4096,
    parallel: int = 1,
    kv_type: str = "f16",
    draft_kv_type: str | None = None,
    batch: int = 512,
    acceptance: float | None = None,
    copied: float = 0.1,
    longest: int = 16,
    build: str | None = None,
    seconds: float | None = None,
    threads: int | None = None,
    no_tune: bool = False,
    json: bool = False,
) -> int:
    """Predict memory and tokens/s with a draft, a prediction head, n-grams and without any.

    Without --gpu and --cpu it is for this machine: by what `vedette tune` kept of the models, else
    they are measured. Of a model that is not here only the header is read, by its name or address.

    Parameters
    ----------
    target
        The model that answers: a name, hf:user/repo:QUANT, a path, or https://...
    draft
        The smaller model that guesses, named in the same ways.
    mmproj
        Path of a vision projector that is loaded too.
    gpu
        A GPU by name, as 'RTX 3090'; --vram and --bandwidth where it is not in the table.
    vram
        Memory of the GPU, as 24GB.
    bandwidth
        Bandwidth of its memory, as 936GB/s.
    cpu
        A CPU by name, or --cpu-bandwidth and --cpu-cores.
    cpu_bandwidth
        Bandwidth of the machine's memory, as 80GB/s.
    cpu_cores
        Physical cores.
    ram
        The machine's memory, as 32GB.
    context
        Tokens of context for each sequence.
    parallel
        Sequences answered at once.
    kv_type
        What the target's KV cache is kept in: f16, q8_0, q4_0 and others.
    draft_kv_type
        The same for the draft; f16 by default.
    batch
        Tokens of a physical batch (-ub).
    acceptance
        How often a guess is right, from 0 to 1, those before it being right.
    copied
        Share of the output that stands in the prompt already, from 0 to 1; for n-grams.
    longest
        The most guesses a step that are considered.
    build
        The llama-server that is to run it, or a file with its --help.
    seconds
        How long to measure each model here, the loading not counted; 10 by default.
    threads
        CPU threads for that.
    no_tune
        Plan for the weights as downloaded, also where `vedette tune` made a faster copy of them.
    json
        One JSON object, for machines.
    """
    from vedette.cli.spec_plan_table import as_json, print_plan
    from vedette.spec.candidates import Question
    from vedette.spec.command import command_line, current_build, read_build
    from vedette.spec.memory import Setup
    from vedette.spec.model_file import read_model, read_projector_bytes
    from vedette.spec.plan import make_plan

    if seconds is not None and not (math.isfinite(seconds) and 0 < seconds <= MOST_SECONDS):
        raise InputError(f"--seconds must be above 0 and at most {MOST_SECONDS}, not {seconds:g}")
    if gpu is None and (vram is not None or bandwidth is not None):
        raise InputError("--vram and --bandwidth are those of a GPU", hint="name it with --gpu")
    described = any(each is not None for each in (gpu, cpu, cpu_bandwidth, cpu_cores))
    if described and (seconds is not None or threads is not None):
        raise InputError(
            "--seconds and --threads are for measuring this machine, and another is described",
            hint="leave out either those or --gpu and --cpu",
        )
    if draft is None and draft_kv_type is not None:
        raise InputError("--draft-kv-type is that of a draft", hint="name one with --draft")
    draft_kv_type = draft_kv_type or "f16"
    setup = Setup(
        context_tokens=context,
        sequences=parallel,
        key_type=kv_type,
        value_type=kv_type,
        batch_tokens=batch,
    )
    Setup(context_tokens=context, key_type=draft_kv_type, value_type=draft_kv_type)
    known = read_build(build) if build else current_build()
    models = [read_model(name) for name in (target, draft) if name is not None]
    if acceptance is not None and draft is None and not models[0].head_layers:
        raise InputError(
            f"--acceptance is that of a draft or a prediction head, and {models[0].name} has none",
            hint="name a draft with --draft",
        )
    projector = read_projector_bytes(mmproj) if mmproj else 0
    if described:
        machine = _described(
            _gpu(gpu, vram, bandwidth), _cpu(cpu, cpu_bandwidth, cpu_cores, beside=gpu), ram
        )
    else:
        models, machine = _this_machine(
            models,
            _conditions(seconds or SECONDS, threads, kv_type, no_tune=no_tune),
            ram,
            quiet=json,
        )
    question = Question(
        target=models[0],
        draft=models[1] if len(models) > 1 else None,
        projector_bytes=projector,
        machine=machine,
        setup=setup,
        draft_key_type=draft_kv_type,
        draft_value_type=draft_kv_type,
        acceptance=acceptance,
        copied=copied,
        longest=longest,
    )
    made = make_plan(question, unsupported=known.unsupported())
    command = command_line(question, made.chosen, known, projector=mmproj)
    if json:
        print_json(as_json(made, command))
    else:
        print_plan(made, command)
    return 0


def _gpu(name: str | None, vram: str | None, bandwidth: str | None) -> Gpu | None:
    from vedette.spec.hardware import describe_gpu

    if name is None:
        return None
    gpu = describe_gpu(name, memory=vram, bandwidth=bandwidth)
    if gpu.memory_bytes is None:
        raise InputError(
            f"{gpu.name} shares the machine's memory",
            hint="say with --vram how much of it models may take",
        )
    return gpu


def _cpu(name: str | None, bandwidth: str | None, cores: int | None, *, beside: str | None) -> Cpu:
    from dataclasses import replace

    from vedette.spec.hardware import Cpu, find_cpu, parse_bandwidth

    if cores is not None and cores < 1:
        raise InputError(f"--cpu-cores must be at least 1, not {cores}")
    if name is not None:
        cpu = find_cpu(name)
    elif beside is None and (bandwidth is None or cores is None):
        raise InputError("a CPU is described by its name, or by --cpu-bandwidth and --cpu-cores")
    else:
        cpu = Cpu(
            name="a CPU with DDR5 in two channels (assumed)",
            bytes_per_s=_USUAL_BYTES_PER_S,
            cores=_USUAL_CORES,
        )
    if bandwidth is not None:
        bytes_per_s = parse_bandwidth(bandwidth, "--cpu-bandwidth")
        cpu = replace(cpu, name=name or "a CPU as described", bytes_per_s=bytes_per_s)
    return replace(cpu, cores=cores) if cores is not None else cpu


def _described(gpu: Gpu | None, cpu: Cpu, ram: str | None) -> Machine:
    from vedette.spec.machine import Machine

    return Machine(gpu=gpu, cpu=cpu, memory_bytes=_ram(ram))


def _ram(ram: str | None) -> int | None:
    from vedette.spec.hardware import parse_bytes

    return None if ram is None else parse_bytes(ram, "--ram", binary=True)


def _conditions(seconds: float, threads: int | None, kv_type: str, *, no_tune: bool) -> Conditions:
    from vedette.config import load, usable_cores
    from vedette.spec.measure import Conditions

    settings = load(threads=threads, tuned=False if no_tune else None)
    return Conditions(
        seconds=seconds,
        threads=settings.threads or usable_cores(),
        kv_type=kv_type,
        use_tuned=settings.tuned,
    )


def _this_machine(
    models: list[ModelFile], conditions: Conditions, ram: str | None, *, quiet: bool
) -> tuple[list[ModelFile], Machine]:
    """This one, with the models measured on it, and those that are planned for."""
    from vedette.doctor.machine import this_machine
    from vedette.models.home import home
    from vedette.spec.hardware import Cpu
    from vedette.spec.machine import Machine
    from vedette.spec.measure import measured_models

    for model in models:
        if not model.is_local:
            raise InputError(
                f"{model.name} is not on this machine, so it cannot be measured here",
                hint="`vedette pull` it, or describe a machine with --gpu or --cpu",
            )
    names = " and ".join(model.name for model in models)
    note(f"measuring {names}, unless vedette tune kept how fast they are", quiet=quiet)
    models, measured = measured_models(models, conditions)
    found = this_machine(home())
    total = found.memory.total_bytes if found.memory else None
    cpu = Cpu(name=found.cpu.name, bytes_per_s=1.0, cores=found.cpu.usable_cores)
    return models, Machine(gpu=None, cpu=cpu, memory_bytes=_ram(ram) or total, measured=measured)
