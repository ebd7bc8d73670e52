"""How long a step takes by the number of its tokens, T(n): measured, or a model of hardware.

A step reads the weights once, whatever n is; each further token adds a share of that, by hardware
(fitted). Of a mixture of experts it reads those that some token chose: E(1-(1-K/E)^n) distinct ones
of E for n tokens that choose K each, if they choose independently.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from vedette.spec.hardware import Cpu, Gpu
from vedette.spec.parameters import Efficiency, Fit


class StepTime(Protocol):
    """T(n), as `engine.curve.CostCurve` has it measured."""

    def seconds(self, n: int) -> float:
        """Seconds of a step of n tokens, n >= 1."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A device that reads its share of the weights: how fast, and what a further token costs.

    `layer_s` are seconds that a layer takes beside reading, whatever the number of tokens.
    """

    bytes_per_s: float
    slope: float
    layer_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What a step does on one device: bytes for every token, bytes of all its experts, layers."""

    reader: Reader
    dense_bytes: float
    expert_bytes: float = 0.0
    layers: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelledStep:
    """T(n) of weights that lie on some devices, read one after another."""

    loads: tuple[Load, ...]
    experts_share: float = 1.0

    def seconds(self, n: int) -> float:
        """See `StepTime`."""
        distinct = 1 - (1 - self.experts_share) ** n
        return sum(
            load.dense_bytes / load.reader.bytes_per_s * (1 + load.reader.slope * (n - 1))
            + load.expert_bytes * distinct / load.reader.bytes_per_s
            + load.layers * load.reader.layer_s
            for load in self.loads
        )


def gpu_reader(gpu: Gpu, fit: Fit, efficiency: Efficiency) -> Reader:
    """A GPU by its bandwidth and generation."""
    slopes = {
        "recent": fit.slope_recent,
        "older": fit.slope_older,
        "apple": fit.slope_apple,
    }
    return Reader(
        bytes_per_s=gpu.bytes_per_s * efficiency.gpu,
        slope=slopes[gpu.generation],
        layer_s=efficiency.gpu_layer_s,
    )


def cpu_reader(cpu: Cpu, fit: Fit, efficiency: Efficiency) -> Reader:
    """A CPU by its bandwidth and cores: few cores do n tokens in n times the time of one."""
    return Reader(
        bytes_per_s=cpu.bytes_per_s * efficiency.cpu,
        slope=min(1.0, fit.cpu_cores_per_token / cpu.cores),
    )
