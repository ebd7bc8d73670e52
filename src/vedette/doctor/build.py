"""The installed llama.cpp: which CPU features it was built for, held against the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from vedette.cpu import FEATURES, Cpu
from vedette.errors import EngineFailed

Kind: TypeAlias = Literal["native", "generic", "foreign", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """What the library says of itself, and what that means on this CPU.

    `native`: it uses all that the CPU has. `generic`: it leaves the features in `unused` lying.
    `foreign`: it needs those in `missing`, which the CPU lacks, and may crash. `unknown`: one of
    the two does not say. `backends` are what it can compute on, with what they say besides.
    """

    kind: Kind
    features: tuple[str, ...]
    unused: tuple[str, ...]
    missing: tuple[str, ...]
    backends: Mapping[str, Mapping[str, str]]
    system_info: str


def installed_build(cpu: Cpu) -> Build:
    """Load the library and ask it. Raises `EngineFailed` when it cannot be loaded."""
    try:
        from vedette.engine.llama import library
    except (ImportError, OSError, RuntimeError) as error:  # the binding raises all of these
        raise EngineFailed(
            f"llama.cpp cannot be loaded: {error}", hint="reinstall llama-cpp-python"
        ) from error
    return describe(library.system_info(), cpu.features)


def describe(system_info: str, cpu_features: tuple[str, ...] | None) -> Build:
    """The build with this `system_info`, on a CPU with these features (None: not known)."""
    backends = parse_system_info(system_info)
    said = backends.get("CPU", {})
    features = tuple(name for name in FEATURES if said.get(name, "0") != "0")
    unused = tuple(name for name in cpu_features or () if name not in features)
    missing = tuple(name for name in features if name not in (cpu_features or ()))
    kind: Kind = "foreign" if missing else "generic" if unused else "native"
    if cpu_features is None or "CPU" not in backends:
        kind, unused, missing = "unknown", (), ()
    return Build(
        kind=kind,
        features=features,
        unused=unused,
        missing=missing,
        backends=backends,
        system_info=system_info.strip(),
    )


def parse_system_info(text: str) -> dict[str, dict[str, str]]:
    """Backend -> what it says: `CPU : AVX2 = 1 | OPENMP = 1 | CUDA : ARCHS = 890 | `."""
    backends: dict[str, dict[str, str]] = {}
    backend = ""
    for part in text.split("|"):
        head, has_value, value = part.partition("=")
        name, starts, rest = head.rpartition(":")
        if starts:
            # A backend that says nothing of itself is directly followed by the next one.
            for backend in filter(None, map(str.strip, name.split(":"))):
                backends.setdefault(backend, {})
        if has_value and backend:
            backends[backend][rest.strip()] = value.strip()
    return backends


def advice(build: Build, version: str) -> str:
    """What to do about it, '' where nothing is to be done."""
    again = (
        'CMAKE_ARGS="-DGGML_NATIVE=ON" pip install --force-reinstall --no-deps --no-cache-dir '
        f"--no-binary llama-cpp-python llama-cpp-python=={version}"
    )
    match build.kind:
        case "generic":
            return (
                f"The CPU has {', '.join(build.unused)}, which this build of llama.cpp does not "
                f"use: answers come slower than they could. Build it for this machine (needs a "
                f"C++ compiler): {again}"
            )
        case "foreign":
            return (
                f"This build of llama.cpp needs {', '.join(build.missing)}, which the CPU lacks: "
                f"it may crash, so nothing is measured. Build it for this machine (needs a C++ "
                f"compiler): {again}"
            )
        case "native" | "unknown":
            return ""
