"""Memory, disk, load and versions, as far as the system tells."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

import psutil

from vedette.cpu import Cpu, read_text, this_cpu

MEMORY_LIMIT = Path("/sys/fs/cgroup/memory.max")
PACKAGES = ("vedette", "llama-cpp-python", "llguidance")


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Bytes of RAM, in all and free for use now; neither is more than a container's limit."""

    total_bytes: int
    available_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What could be found out; None where the system does not say.

    `load` is the number of processes that wanted to run, over the last minute.
    """

    system: str
    cpu: Cpu
    load: float | None
    memory: Memory | None
    cache_folder: Path
    disk_free_bytes: int | None


def this_machine(cache_folder: Path) -> Machine:
    """The machine that this runs on, with the disk that holds the folder."""
    return Machine(
        system=platform.platform(terse=True),
        cpu=this_cpu(),
        load=_load(),
        memory=_memory(),
        cache_folder=cache_folder,
        disk_free_bytes=disk_free_bytes(cache_folder),
    )


def versions() -> dict[str, str]:
    """Of Python and of what answers depend on."""
    found = {"Python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def disk_free_bytes(folder: Path) -> int | None:
    """Room on the disk on which the folder is, or would be made."""
    try:
        there = next(each for each in (folder, *folder.parents) if each.exists())
        return shutil.disk_usage(there).free
    except (OSError, StopIteration):
        return None


def within_limit(memory: Memory, memory_max: str) -> Memory:
    """Cut down to a control group's `memory.max`; the word `max` is no limit."""
    if not memory_max.strip().isdigit():
        return memory
    limit_bytes = int(memory_max)
    return Memory(
        total_bytes=min(memory.total_bytes, limit_bytes),
        available_bytes=min(memory.available_bytes, limit_bytes),
    )


def _memory() -> Memory | None:
    try:
        found = psutil.virtual_memory()
    except OSError:  # no /proc
        return None
    memory = Memory(total_bytes=found.total, available_bytes=found.available)
    return within_limit(memory, read_text(MEMORY_LIMIT))


def _load() -> float | None:
    try:
        return os.getloadavg()[0]
    except OSError:
        return None
