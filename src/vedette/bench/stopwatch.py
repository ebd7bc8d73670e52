"""Wall time of a run, and who used the CPU meanwhile: a busy machine spoils a measurement."""

from __future__ import annotations

import time
from dataclasses import dataclass

import psutil


@dataclass(frozen=True, slots=True, kw_only=True)
class Elapsed:
    """`own_cpu_s` is this process's CPU time, `others_cpu_s` that of all but it and the peer."""

    wall_s: float
    own_cpu_s: float
    others_cpu_s: float


class Stopwatch:
    """Runs from its making until `stop`. `peer_pid` is the process of a peer, if there is one."""

    def __init__(self, peer_pid: int | None = None) -> None:
        self._peer_pid = peer_pid
        self._peer = _cpu_of_tree(peer_pid)
        self._busy = _busy_s()
        self._own = time.process_time()
        self._wall = time.perf_counter()

    def stop(self) -> Elapsed:
        """What has passed; the peer must still be there."""
        wall_s = time.perf_counter() - self._wall
        own_s = time.process_time() - self._own
        peer_s = _cpu_of_tree(self._peer_pid) - self._peer
        busy_s = _busy_s() - self._busy
        # The system counts in coarse ticks, so a little less than nothing can come out.
        others_s = max(0.0, busy_s - own_s - peer_s)
        return Elapsed(wall_s=wall_s, own_cpu_s=own_s, others_cpu_s=others_s)


def _busy_s() -> float:
    """CPU seconds of the whole machine that were not idle, those of other guests included."""
    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0)
    # `guest` times are counted in `user` already.
    guests = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
    return float(sum(times) - idle - guests)


def _cpu_of_tree(pid: int | None) -> float:
    if pid is None:
        return 0.0
    process = psutil.Process(pid)
    total = 0.0
    for member in (process, *process.children(recursive=True)):
        times = member.cpu_times()
        total += times.user + times.system
    return total
