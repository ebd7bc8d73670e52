"""A plan for people, and for machines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from vedette.cli.console import print_table
from vedette.models.units import human_bytes, human_count

if TYPE_CHECKING:
    from vedette.spec.candidates import Candidate
    from vedette.spec.model_file import ModelFile
    from vedette.spec.plan import Plan
    from vedette.spec.ranges import Range

_NUMBERS = ("k", "tokens/s", "80% between", "speed-up", "between", "memory", "GPU", "-ngl")


def print_plan(plan: Plan, command: str) -> None:
    """Machine, candidates, memory of the chosen one by part, verdict, command."""
    print_table(("what", "is"), list(_what(plan)))
    print()
    has_gpu = plan.question.machine.gpu is not None
    ways = sorted((plan.plain, *plan.candidates), key=_slowness)
    columns = ("way", *(_NUMBERS if has_gpu else _NUMBERS[:-2]))
    print_table(columns, [_row(each, has_gpu=has_gpu) for each in ways], right=_NUMBERS)
    for refusal in plan.refusals:
        print(f"not {refusal.method}: {refusal.reason}")
    print()
    print_table(
        ("memory by part", "memory", "GPU")[: 3 if has_gpu else 2],
        list(_parts(plan.chosen, has_gpu=has_gpu)),
        right=("memory", "GPU"),
    )
    print()
    for sentence in sentences(plan):
        print(sentence)
    print(f"\n{command}")


def sentences(plan: Plan) -> Iterator[str]:
    """The verdict in words."""
    verdict, best = plan.verdict, plan.candidates[0] if plan.candidates else None
    if best is None:
        yield f"Verdict: off. {verdict.why.capitalize()}."
        return
    doubt = "" if verdict.is_sure else ", but the interval leaves it open: measure it"
    if verdict.speculate:
        yield (
            f"Verdict: on, {verdict.method} with {verdict.k} "
            f"guess{'es' if verdict.k > 1 else ''} a step{doubt}."
        )
    else:
        yield f"Verdict: off{doubt}."
    yield f"Why: {verdict.told} {verdict.why}."
    for flip in verdict.flips:
        yield f"What would flip it: {flip}."


def as_json(plan: Plan, command: str) -> dict[str, object]:
    """Everything, as plain values."""
    machine = plan.question.machine
    return {
        "target": _model_json(plan.question.target),
        "draft": _model_json(plan.question.draft) if plan.question.draft else None,
        "machine": {
            "gpu": asdict(machine.gpu) if machine.gpu else None,
            "cpu": None if machine.measured else asdict(machine.cpu),
            "memory_bytes": machine.memory_bytes,
            "measured": machine.measured.where if machine.measured else None,
        },
        "setup": asdict(plan.question.setup),
        "target_layers": list(_layers_json(plan)),
        "verdict": asdict(plan.verdict),
        "plain": _candidate_json(plan.plain),
        "candidates": [_candidate_json(each) for each in plan.candidates],
        "refusals": [{"method": each.method, "reason": each.reason} for each in plan.refusals],
        "command": command,
    }


def _what(plan: Plan) -> Iterator[tuple[str, str]]:
    question, machine = plan.question, plan.question.machine
    yield "target", _model(question.target)
    if question.draft:
        yield "draft", _model(question.draft)
    if machine.gpu is not None and machine.gpu.memory_bytes:
        gpu = machine.gpu
        yield (
            "GPU",
            f"{gpu.name}, {human_bytes(gpu.memory_bytes or 0)}, "
            f"{human_bytes(int(gpu.bytes_per_s))}/s",
        )
    if machine.measured:
        yield "machine", f"{machine.cpu.name}, {machine.measured.where}"
    else:
        cpu = machine.cpu
        yield "CPU", f"{cpu.name}, {cpu.cores} cores, {human_bytes(int(cpu.bytes_per_s))}/s"
    setup = question.setup
    yield (
        "runs",
        f"{setup.sequences} sequence{'s' if setup.sequences > 1 else ''} of "
        f"{setup.context_tokens} tokens, cache in {setup.key_type}",
    )
    label = question.target.context_tokens
    if label is not None and setup.context_tokens > label:
        yield "note", f"that is more than the {label} tokens of the target's label"


def _model(model: ModelFile) -> str:
    head = f", prediction head of {human_bytes(model.head_bytes)}" if model.head_layers else ""
    return (
        f"{model.name}: {model.architecture}, {human_count(model.n_parameters)} parameters, "
        f"{len(model.layers)} layers, {human_bytes(model.weights_bytes)}{head}"
    )


def _row(each: Candidate, *, has_gpu: bool) -> tuple[str, ...]:
    plain = each.method == "none"
    place = ""
    if each.method == "draft-simple" and has_gpu:
        place = ", draft on the GPU" if each.draft_on_gpu else ", draft on the CPU"
    cells = (
        each.method + place,
        "" if plain else str(each.k),
        _number(each.tokens_per_s.likely),
        _between(each.tokens_per_s),
        "" if plain else f"{each.speedup.likely:.2f}",
        "" if plain else f"{each.speedup.low:.2f} to {each.speedup.high:.2f}",
        human_bytes(each.host_bytes),
    )
    return (*cells, human_bytes(each.gpu_bytes), str(each.gpu_layers)) if has_gpu else cells


def _parts(chosen: Candidate, *, has_gpu: bool) -> Iterator[tuple[str, ...]]:
    rows = [(part.name, part.host_bytes, part.gpu_bytes) for part in chosen.parts]
    for name, *sizes in [*rows, ("all", chosen.host_bytes, chosen.gpu_bytes)]:
        yield name, *(human_bytes(size) if size else "" for size in sizes[: 2 if has_gpu else 1])
    host, gpu = _memory(chosen)
    yield "between", *(_bytes_between(each) for each in ((host, gpu) if has_gpu else (host,)))


def _memory(each: Candidate) -> tuple[Range, Range]:
    """The machine's and the GPU's, with what they may be off."""
    from vedette.spec.candidates import around
    from vedette.spec.parameters import parameters

    errors = parameters().interval
    return around(each.host_bytes, errors.host_memory), around(each.gpu_bytes, errors.gpu_memory)


def _bytes_between(values: Range) -> str:
    if not values.likely:
        return ""
    return f"{human_bytes(int(values.low))} to {human_bytes(int(values.high))}"


def _slowness(each: Candidate) -> float:
    return -each.tokens_per_s.likely


def _between(values: Range) -> str:
    return f"{_number(values.low)} to {_number(values.high)}"


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 99.5 else f"{value:.1f}"


def _model_json(model: ModelFile) -> dict[str, object]:
    return {
        "name": model.name,
        "architecture": model.architecture,
        "parameters": model.n_parameters,
        "layers": len(model.layers),
        "weights_bytes": model.weights_bytes,
        "prediction_head_bytes": model.head_bytes,
    }


def _layers_json(plan: Plan) -> Iterator[dict[str, int]]:
    """Of each layer of the target: weights, and cache with states, in bytes."""
    from vedette.spec.memory import cache_bytes

    target, setup = plan.question.target, plan.question.setup
    for weights, memory in zip(target.layers, target.memory, strict=True):
        cache = cache_bytes(memory, setup, target.window_tokens)
        yield {"weights_bytes": weights.total_bytes, "cache_bytes": cache}


def _candidate_json(each: Candidate) -> dict[str, object]:
    host, gpu = _memory(each)
    return {
        "method": each.method,
        "k": each.k,
        "gpu_layers": each.gpu_layers,
        "draft_on_gpu": each.draft_on_gpu,
        "tokens_per_s": asdict(each.tokens_per_s),
        "speedup": asdict(each.speedup),
        "acceptance": asdict(each.acceptance) if each.acceptance else None,
        "tokens_per_step": each.tokens_per_step,
        "gpu_bytes": each.gpu_bytes,
        "gpu_bytes_between": [int(gpu.low), int(gpu.high)],
        "host_bytes": each.host_bytes,
        "host_bytes_between": [int(host.low), int(host.high)],
        "parts": [asdict(part) for part in each.parts],
    }
