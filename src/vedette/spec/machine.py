"""The machine that a plan is for: described by its GPU and CPU, or measured with the models."""

from __future__ import annotations

from dataclasses import dataclass

from vedette.spec.hardware import Cpu, Gpu
from vedette.spec.speed import StepTime

# What llama.cpp leaves free of a GPU (`--fit-target`).
GPU_RESERVE_BYTES = 1024 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """T(n) of target and draft as they were measured, and where."""

    where: str
    target: StepTime
    draft: StepTime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A GPU or none, the CPU beside it, bytes of the machine's memory (None: not said).

    With `measured` steps cost what was measured, and hardware is not asked.
    """

    gpu: Gpu | None
    cpu: Cpu
    memory_bytes: int | None
    measured: Measured | None = None

    @property
    def gpu_room_bytes(self) -> int:
        """Of the GPU's memory, what models may take."""
        if self.gpu is None or self.gpu.memory_bytes is None:
            return 0
        return max(0, self.gpu.memory_bytes - GPU_RESERVE_BYTES)
