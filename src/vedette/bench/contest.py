"""Both sides on the same job, in turns: never at the same time, as they share the CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TypeAlias

from vedette.errors import InputError
from vedette.tasks.base import Task
from vedette.types import Item

from .in_process import NAME, InProcess
from .runs import Run
from .served import PeerJob, Served

Say: TypeAlias = Callable[[str], None]


# With any other cache the server needs flash attention.
PLAIN_KV_TYPES = ("f32", "f16", "bf16")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How often, and with which settings of the peer.

    Short runs over the first `calibration_items` find the best of `slots`, then whether flash
    attention helps; that peer is measured. `all_slots` measures every combination instead. Raises
    `InputError` for counts that are none.
    """

    repeat: int = 2
    slots: tuple[int, ...] = (1, 4, 8)
    calibration_items: int = 40
    all_slots: bool = False

    def __post_init__(self) -> None:
        for name, value in (("repeat", self.repeat), ("calibration", self.calibration_items)):
            if value < 1:
                raise InputError(f"--{name} is {value}; it must be at least 1")
        if not self.slots or min(self.slots) < 1 or len(set(self.slots)) < len(self.slots):
            raise InputError(
                f"--np is {','.join(map(str, self.slots)) or 'empty'}; "
                "it takes different counts of at least 1, as in 1,4,8"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """The runs of both sides, in the order in which they took turns.

    `peers` has the runs of each peer that was measured, `calibration` the items/s of the short
    runs that chose it, by the peer's name.
    """

    ours: tuple[Run, ...]
    peers: dict[Served, tuple[Run, ...]]
    calibration: dict[str, float]

    @property
    def best(self) -> Served:
        """The peer with the highest median."""
        return max(self.peers, key=lambda peer: median(run.items_per_s for run in self.peers[peer]))

    @property
    def theirs(self) -> tuple[Run, ...]:
        """The peer's runs at its best."""
        return self.peers[self.best]


def hold(
    plan: Plan,
    engine: InProcess,
    task: Task,
    items: Sequence[Item],
    served: Served,
    job: PeerJob,
    say: Say,
) -> Contest:
    """Calibrate, then alternate. `say` gets a line about each run.

    Raises `EngineFailed` if the peer cannot be started or dies.
    """
    calibration: dict[Served, float] = {}
    if plan.all_slots:
        by_slots = [_with_slots(served, n) for n in plan.slots]
        measured = [peer for first in by_slots for peer in _with_and_without(first)]
    else:
        calibration = _calibrate(plan, served, job, say)
        measured = [max(calibration, key=calibration.__getitem__)]
    ours: list[Run] = []
    peers: dict[Served, list[Run]] = {peer: [] for peer in measured}
    for turn in range(1, plan.repeat + 1):
        ours.append(engine.run(task, items))
        say(f"run {turn} of {plan.repeat}: {NAME} {ours[-1].items_per_s:.2f} items/s")
        for peer, runs in peers.items():
            runs.append(peer.run(job))
            say(f"run {turn} of {plan.repeat}: {peer.name} {runs[-1].items_per_s:.2f} items/s")
    return Contest(
        ours=tuple(ours),
        peers={peer: tuple(runs) for peer, runs in peers.items()},
        calibration={peer.name: rate for peer, rate in calibration.items()},
    )


def _calibrate(plan: Plan, served: Served, job: PeerJob, say: Say) -> dict[Served, float]:
    """Items/s at each slot count, then at the best of them without flash attention."""
    short = job.first(plan.calibration_items)
    found: dict[Served, float] = {}

    def measure(peer: Served) -> None:
        found[peer] = peer.run(short).items_per_s
        say(f"calibration, {len(short.items)} items: {peer.name} {found[peer]:.2f} items/s")

    for n in plan.slots:
        measure(_with_slots(served, n))
    for peer in _with_and_without(max(found, key=found.__getitem__))[1:]:
        measure(peer)
    return found


def _with_and_without(peer: Served) -> list[Served]:
    """The peer, and itself without flash attention if it can do without."""
    if peer.options.kv_type not in PLAIN_KV_TYPES:
        return [peer]
    return [peer, replace(peer, options=replace(peer.options, flash_attention=False))]


def _with_slots(peer: Served, n: int) -> Served:
    return replace(peer, options=replace(peer.options, n_slots=n))
