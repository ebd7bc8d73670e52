"""Which layers lie where, what that takes part by part, and how fast the parts are read."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace

from vedette.spec.hardware import Cpu, Gpu
from vedette.spec.machine import Machine
from vedette.spec.memory import (
    Setup,
    cache_bytes,
    compute_bytes,
    head_cache_bytes,
    output_bytes,
    repacked_bytes,
    tables_bytes,
    work_bytes,
)
from vedette.spec.model_file import ModelFile, layer_of
from vedette.spec.parameters import Efficiency, Fit
from vedette.spec.speed import Load, ModelledStep, cpu_reader, gpu_reader

# A projector's buffers while it reads an image, as a share of its tensors: assumed.
_PROJECTOR_SHARE = 1.25
# llama.cpp's own structures on the GPU for each model that has a context there.
_GPU_CONTEXT_BYTES = 150 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Something that takes memory: bytes on the GPU, and in the machine's memory."""

    name: str
    gpu_bytes: int
    host_bytes: int


def target_parts(
    model: ModelFile, setup: Setup, gpu_layers: int, *, with_head: bool
) -> tuple[Part, ...]:
    """The target with so many layers on the GPU, counted as `-ngl` does: the output first."""
    first = len(model.layers) + 1 - gpu_layers
    on_gpu = [index >= first for index in range(len(model.layers))]
    weights = [layer.total_bytes for layer in model.layers]
    caches = [cache_bytes(layer, setup, model.window_tokens) for layer in model.memory]
    output = gpu_layers > 0
    # A tied output is a second copy of the embedding on the GPU; on the host it is the same bytes.
    gpu_weights = _sum(weights, on_gpu) + (model.read_output_bytes if output else 0)
    host_weights = sum(weights) - _sum(weights, on_gpu) + model.embedding_bytes + model.other_bytes
    host_weights += 0 if output else model.output_bytes
    parts = [
        Part(name="target weights", gpu_bytes=gpu_weights, host_bytes=host_weights),
        Part(
            name="target cache",
            gpu_bytes=_sum(caches, on_gpu),
            host_bytes=sum(caches) - _sum(caches, on_gpu),
        ),
        _compute("target compute", model, setup, on_gpu=output),
        _beside("target", model, first, output_on_gpu=output),
    ]
    if with_head:
        cache, compute = head_cache_bytes(model, setup), compute_bytes(model, setup)
        head = model.head_bytes + cache + compute
        parts.append(_somewhere("prediction head", head, on_gpu=output))
    return tuple(parts)


def draft_parts(model: ModelFile, setup: Setup, *, on_gpu: bool) -> tuple[Part, ...]:
    """A draft model, whole on the GPU or whole beside it."""
    weights = sum(layer.total_bytes for layer in model.layers)
    cache = sum(cache_bytes(layer, setup, model.window_tokens) for layer in model.memory)
    rest = model.embedding_bytes + model.other_bytes
    gpu_weights = weights + model.read_output_bytes
    return (
        Part(
            name="draft weights",
            gpu_bytes=gpu_weights if on_gpu else 0,
            host_bytes=rest if on_gpu else rest + weights + model.output_bytes,
        ),
        _somewhere("draft cache", cache, on_gpu=on_gpu),
        _compute("draft compute", model, setup, on_gpu=on_gpu),
        _beside("draft", model, 0 if on_gpu else len(model.layers), output_on_gpu=on_gpu),
    )


def projector_part(n_bytes: int, *, on_gpu: bool) -> Part:
    """A vision projector with its buffers."""
    return _somewhere("projector", int(n_bytes * _PROJECTOR_SHARE), on_gpu=on_gpu)


def most_gpu_layers(model: ModelFile, setup: Setup, room_bytes: int, *, with_head: bool) -> int:
    """How many layers fit, counted as `-ngl`; 0 if not even the output does."""

    def taken_bytes(gpu_layers: int) -> int:
        parts = target_parts(model, setup, gpu_layers, with_head=with_head)
        return sum(part.gpu_bytes for part in parts)

    most = range(1, len(model.layers) + 2)  # each further layer takes more
    return bisect_right(most, room_bytes, key=taken_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Speeds:
    """How the devices of a machine read weights, at one efficiency."""

    gpu: Gpu | None
    cpu: Cpu
    fit: Fit
    efficiency: Efficiency

    def target(self, model: ModelFile, gpu_layers: int) -> ModelledStep:
        """T(n) of the target with so many layers on the GPU."""
        first = len(model.layers) + 1 - gpu_layers
        gpu = [layer for index, layer in enumerate(model.layers) if index >= first]
        cpu = [layer for index, layer in enumerate(model.layers) if index < first]
        loads = []
        for layers, output, on_gpu in ((gpu, gpu_layers > 0, True), (cpu, gpu_layers == 0, False)):
            dense = sum(layer.dense_bytes for layer in layers)
            dense += model.read_output_bytes if output else 0
            experts = sum(layer.expert_bytes for layer in layers)
            if dense or experts:
                loads.append(self._load(dense, experts, len(layers), on_gpu=on_gpu))
        share = model.n_experts_used / model.n_experts if model.n_experts else 1.0
        return ModelledStep(loads=tuple(loads), experts_share=share)

    def draft(self, model: ModelFile, *, on_gpu: bool) -> ModelledStep:
        """T(n) of a draft model that lies on one device."""
        return self.target(model, len(model.layers) + 1 if on_gpu else 0)

    def head(self, model: ModelFile, *, on_gpu: bool) -> ModelledStep:
        """T(n) of a guess by the prediction head: its layers, and the output matrix."""
        n_bytes = model.head_bytes + model.read_output_bytes
        n_layers = len(model.head_layers)
        return ModelledStep(loads=(self._load(n_bytes, 0, n_layers, on_gpu=on_gpu),))

    def _load(self, dense_bytes: int, expert_bytes: int, layers: int, *, on_gpu: bool) -> Load:
        if on_gpu and self.gpu is not None:
            reader = gpu_reader(self.gpu, self.fit, self.efficiency)
        else:
            reader = cpu_reader(self.cpu, self.fit, self.efficiency)
        return Load(
            reader=reader, dense_bytes=dense_bytes, expert_bytes=expert_bytes, layers=layers
        )


def speeds_of(machine: Machine, fit: Fit, efficiency: Efficiency) -> tuple[Speeds, Speeds, Speeds]:
    """At the low, the likely and the high efficiency."""
    middle = Speeds(gpu=machine.gpu, cpu=machine.cpu, fit=fit, efficiency=efficiency)
    layer_s = efficiency.gpu_layer_s
    low = replace(
        efficiency, gpu=efficiency.gpu_low, cpu=efficiency.cpu_low, gpu_layer_s=2 * layer_s
    )
    high = replace(
        efficiency, gpu=efficiency.gpu_high, cpu=efficiency.cpu_high, gpu_layer_s=layer_s / 2
    )
    return replace(middle, efficiency=low), middle, replace(middle, efficiency=high)


def _compute(name: str, model: ModelFile, setup: Setup, *, on_gpu: bool) -> Part:
    n_bytes = compute_bytes(model, setup)
    if on_gpu:
        handed = output_bytes(model, setup)
        return Part(name=name, gpu_bytes=n_bytes + _GPU_CONTEXT_BYTES, host_bytes=handed)
    host = n_bytes + work_bytes(model, setup) + output_bytes(model, setup)
    return Part(name=name, gpu_bytes=0, host_bytes=host)


def _beside(name: str, model: ModelFile, first: int, *, output_on_gpu: bool) -> Part:
    """What a model takes beside its weights: tables, and copies for the CPU, whose layers end at
    `first`."""
    on_cpu = (
        tensor
        for tensor in model.tensors
        if (
            index < first
            if (index := layer_of(tensor)) is not None
            else not output_on_gpu and tensor.name.startswith("output.")
        )
    )
    host = tables_bytes(model) + repacked_bytes(on_cpu)
    return Part(name=f"{name} tables and copies", gpu_bytes=0, host_bytes=host)


def _somewhere(name: str, n_bytes: int, *, on_gpu: bool) -> Part:
    return Part(name=name, gpu_bytes=n_bytes if on_gpu else 0, host_bytes=0 if on_gpu else n_bytes)


def _sum(values: list[int], chosen: list[bool]) -> int:
    return sum(value for value, is_chosen in zip(values, chosen, strict=True) if is_chosen)
