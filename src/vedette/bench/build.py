"""What kind of build a llama-server is: made for this CPU, or for any."""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from vedette.backends.server_program import answer_of, options_of, output_of

Kind: TypeAlias = Literal["native", "generic", "unknown"]

CPUINFO = Path("/proc/cpuinfo")
# llama.cpp's name of a CPU feature in `system_info`: what the kernel calls it.
FEATURES = {
    "SSE3": "pni",
    "SSSE3": "ssse3",
    "AVX": "avx",
    "AVX_VNNI": "avx_vnni",
    "AVX2": "avx2",
    "F16C": "f16c",
    "FMA": "fma",
    "AVX512": "avx512f",
    "AVX512_VBMI": "avx512vbmi",
    "AVX512_VNNI": "avx512_vnni",
    "AVX512_BF16": "avx512_bf16",
    "AMX_INT8": "amx_int8",
    "NEON": "asimd",
    "FP16_VA": "asimdhp",
    "DOTPROD": "asimddp",
    "MATMUL_INT8": "i8mm",
    "SVE": "sve",
    "SME": "sme",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """A program's version, its own `system_info`, and what that means on this machine.

    `native`: it uses every vector extension of this CPU. `generic`: it leaves those in `unused`
    lying. `unknown`: it does not say, or the system does not say what the CPU has.
    """

    version: str
    kind: Kind
    features: tuple[str, ...]
    unused: tuple[str, ...]
    system_info: str


def identify(program: Path) -> Build:
    """Ask the program. It prints `system_info` before it finds that there is no such model.

    Raises `EngineFailed` if it cannot run here at all.
    """
    version = answer_of(program, "--version")
    # Newer builds print the line at log level 4 only. The level is raised here and not in the
    # measured run, which it would slow down.
    log, _ = output_of(program, "-m", "there-is-no-such-model.gguf", *_loud(program))
    return describe(version, log, cpu_flags(_cpuinfo()))


def describe(version: str, log: str, flags: frozenset[str]) -> Build:
    """The build that this output tells of, on a CPU with these flags."""
    found = re.search(r"system_info: ?(.*)", log)
    line = found.group(1).strip() if found else ""
    features = tuple(re.findall(r"([A-Z][A-Z0-9_]*) = [1-9]", line))
    had = [name for name, flag in FEATURES.items() if flag in flags]
    unused = tuple(name for name in had if name not in features)
    kind: Kind = "generic" if unused else "native"
    if not line or not had:
        kind, unused = "unknown", ()
    return Build(
        version=_version(version), kind=kind, features=features, unused=unused, system_info=line
    )


def cpu_flags(cpuinfo: str) -> frozenset[str]:
    """The flags of the first processor in the text of `/proc/cpuinfo`."""
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", cpuinfo, flags=re.MULTILINE)
    return frozenset(found.group(1).split()) if found else frozenset()


def cpu_name() -> str:
    """The CPU's name as the system gives it."""
    found = re.search(r"^model name\s*:\s*(.+)$", _cpuinfo(), flags=re.MULTILINE)
    return found.group(1) if found else platform.processor() or platform.machine()


def _cpuinfo() -> str:
    return CPUINFO.read_text() if CPUINFO.is_file() else ""


def _version(text: str) -> str:
    found = re.search(r"version: *(.+)", text)
    return found.group(1).strip() if found else "unknown"


def _loud(program: Path) -> tuple[str, ...]:
    return ("-lv", "4") if "--verbosity" in options_of(program) else ()
