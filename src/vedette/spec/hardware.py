"""What a GPU or a CPU can do, by name: from a table that is data, or as the user describes it."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias

from pydantic import ConfigDict, PositiveFloat, PositiveInt, TypeAdapter

from vedette.config import nearest
from vedette.errors import InputError

Generation: TypeAlias = Literal["recent", "older", "apple"]
_STRICT = ConfigDict(extra="forbid")
_UNITS = {"": 1e9, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 2**10, "mib": 2**20}
_UNITS |= {"gib": 2**30, "tib": 2**40}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """A GPU: bytes a second, bytes of its own memory (None: it shares the machine's)."""

    name: str
    bytes_per_s: float
    memory_bytes: int | None
    generation: Generation


@dataclass(frozen=True, slots=True, kw_only=True)
class Cpu:
    """A CPU with its memory: bytes a second, physical cores that compute."""

    name: str
    bytes_per_s: float
    cores: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _GpuRow:
    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    name: str
    bandwidth: PositiveFloat
    generation: Generation
    memory: PositiveFloat | None = None
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _CpuRow:
    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    name: str
    bandwidth: PositiveFloat
    cores: PositiveInt


@dataclass(frozen=True, slots=True)
class _Table:
    gpu: tuple[_GpuRow, ...]
    cpu: tuple[_CpuRow, ...]


@cache
def _table() -> _Table:
    text = Path(__file__).with_name("hardware.toml").read_text(encoding="utf-8")
    return TypeAdapter(_Table).validate_python(tomllib.loads(text))


@cache
def _gpus() -> dict[str, Gpu]:
    """By each of their spellings, reduced to letters and digits."""
    return {
        _plain(spelling): Gpu(
            name=row.name,
            bytes_per_s=row.bandwidth * 1e9,
            # A GB of a GPU is a GiB.
            memory_bytes=None if row.memory is None else int(row.memory * 2**30),
            generation=row.generation,
        )
        for row in _table().gpu
        for spelling in (row.name, *row.also)
    }


def gpu_names() -> tuple[str, ...]:
    """The GPUs of the table."""
    return tuple(row.name for row in _table().gpu)


def find_gpu(name: str) -> Gpu | None:
    """The GPU of the table with that name, or None. Maker's name and case do not matter."""
    plain = re.sub("^(nvidia|geforce|amd|intel)+", "", _plain(name))
    return _gpus().get(plain)


def gpu_within(text: str) -> Gpu | None:
    """The GPU of the table whose name is the longest one found in a text, or None."""
    plain = _plain(text)
    found = max((spelling for spelling in _gpus() if spelling in plain), key=len, default=None)
    return _gpus()[found] if found else None


def describe_gpu(name: str, *, memory: str | None = None, bandwidth: str | None = None) -> Gpu:
    """A GPU by name, its size and speed as given or from the table.

    Raises `InputError` for a name that is not in the table if not both are given, and for sizes
    that are none.
    """
    known = find_gpu(name)
    if known is None and (memory is None or bandwidth is None):
        near = nearest(name, gpu_names())
        raise InputError(
            f"the GPU {name!r} is not in the hardware table",
            hint=(f"did you mean {near}? " if near else "")
            + "else give its memory and bandwidth: --vram 24GB --bandwidth 936GB/s",
        )
    gpu = known or Gpu(name=name, bytes_per_s=1.0, memory_bytes=None, generation="older")
    if memory is not None:
        gpu = replace(gpu, memory_bytes=parse_bytes(memory, "--vram", binary=True))
    if bandwidth is not None:
        gpu = replace(gpu, bytes_per_s=parse_bandwidth(bandwidth, "--bandwidth"))
    return gpu


def find_cpu(name: str) -> Cpu:
    """The CPU of the table with that name. Raises `InputError` with the nearest ones."""
    for row in _table().cpu:
        if _plain(row.name) in _plain(name):
            return Cpu(name=row.name, bytes_per_s=row.bandwidth * 1e9, cores=row.cores)
    known = [row.name for row in _table().cpu]
    near = nearest(name, known)
    raise InputError(
        f"the CPU {name!r} is not in the hardware table",
        hint=(f"did you mean {near}? " if near else "")
        + "else give --cpu-bandwidth and --cpu-cores",
    )


def parse_bytes(text: str, option: str, *, binary: bool = False) -> int:
    """Bytes of `24GB`, `7.5 GiB`, `800MB` or `24` (GB). Raises `InputError`.

    `binary`: a GB is a GiB, as it is for memory chips.
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?b|)\s*", text.lower())
    if found is None or float(found[1]) <= 0:
        raise InputError(f"{option} {text!r} is not a size", hint="write it as 24GB or 800MB")
    unit = found[2] or "gb"
    if binary:
        unit = unit.replace("b", "ib") if "i" not in unit else unit
    return int(float(found[1]) * _UNITS[unit])


def parse_bandwidth(text: str, option: str) -> float:
    """Bytes a second of `936GB/s`, `936GB` or `936` (GB). Raises `InputError`."""
    try:
        return float(parse_bytes(text.removesuffix("/s"), option))
    except InputError as error:
        raise InputError(
            f"{option} {text!r} is not a bandwidth", hint="write it as 936GB/s"
        ) from error


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9+]", "", text.lower())
