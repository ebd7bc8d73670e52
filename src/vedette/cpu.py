"""The CPU: its name, its cores, and those of its abilities that llama.cpp has kernels for."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

from vedette.config import usable_cores

CPUINFO = Path("/proc/cpuinfo")
CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")
# llama.cpp's name of a feature: the kernel's flags that together say that the CPU has it.
FEATURES: dict[str, tuple[str, ...]] = {
    "SSE3": ("pni",),
    "SSSE3": ("ssse3",),
    "AVX": ("avx",),
    "AVX2": ("avx2",),
    "F16C": ("f16c",),
    "FMA": ("fma",),
    "BMI2": ("bmi2",),
    "AVX_VNNI": ("avx_vnni",),
    "AVX512": ("avx512f",),
    "AVX512_VBMI": ("avx512vbmi",),
    "AVX512_VNNI": ("avx512_vnni",),
    "AVX512_BF16": ("avx512_bf16",),
    "AMX_INT8": ("amx_tile", "amx_int8"),
    "NEON": ("asimd",),
    "FP16_VA": ("asimdhp",),
    "DOTPROD": ("asimddp",),
    "MATMUL_INT8": ("i8mm",),
    "SVE": ("sve",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cpu:
    """A processor. `features` go by llama.cpp's names; None where the system does not say.

    `cpus` are logical; `usable_cores` are physical ones that this process may run on;
    `quota_cpus` is the share of time that a container grants, None for no limit.
    """

    name: str
    cpus: int
    usable_cores: int
    quota_cpus: float | None
    flags: tuple[str, ...] | None
    features: tuple[str, ...] | None


def this_cpu() -> Cpu:
    """The CPU that this runs on."""
    text = read_text(CPUINFO)
    flags = parse_flags(text)
    return Cpu(
        name=parse_name(text) or platform.processor() or platform.machine() or "unknown",
        cpus=os.cpu_count() or 1,
        usable_cores=usable_cores(),
        quota_cpus=parse_quota(read_text(CPU_QUOTA)),
        flags=relevant_flags(flags) if flags else None,
        features=features_of(flags) if flags else None,
    )


def read_text(path: Path) -> str:
    """What the system says there; '' where it says nothing, as other systems do."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def parse_name(cpuinfo: str) -> str:
    """The model's name in the text of `/proc/cpuinfo`; ARM kernels give a number, or nothing."""
    for key in ("model name", "Hardware", "Model"):
        if found := re.search(rf"^{key}\s*:\s*(\S.*)$", cpuinfo, flags=re.MULTILINE):
            return found[1].strip()
    found = re.search(r"^CPU part\s*:\s*(\S+)", cpuinfo, flags=re.MULTILINE)
    return f"ARM, part {found[1]}" if found else ""


def parse_flags(cpuinfo: str) -> frozenset[str]:
    """The flags of the first processor in the text of `/proc/cpuinfo`; none if it has no such line.

    32-bit ARM calls `asimd` by another name; it is given the 64-bit one.
    """
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", cpuinfo, flags=re.MULTILINE)
    names = {"neon": "asimd"}
    return frozenset(names.get(flag, flag) for flag in found[1].split()) if found else frozenset()


def relevant_flags(flags: frozenset[str]) -> tuple[str, ...]:
    """Those flags that some feature needs, in the order of the table."""
    return tuple(flag for needs in FEATURES.values() for flag in needs if flag in flags)


def features_of(flags: frozenset[str]) -> tuple[str, ...]:
    """The features that a CPU with these flags has, by llama.cpp's names."""
    return tuple(name for name, needs in FEATURES.items() if flags.issuperset(needs))


def parse_quota(cpu_max: str) -> float | None:
    """CPUs that a control group's `cpu.max` grants: `50000 100000` is half of one."""
    found = re.fullmatch(r"(\d+) (\d+)", cpu_max.strip())
    return int(found[1]) / int(found[2]) if found and int(found[2]) else None
