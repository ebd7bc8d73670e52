"""What the texts of /proc and of llama.cpp mean."""

from __future__ import annotations

import builtins
import dataclasses

import pytest

from vedette import cpu as cpu_module
from vedette.cpu import (
    features_of,
    parse_flags,
    parse_name,
    parse_quota,
    relevant_flags,
    this_cpu,
)
from vedette.doctor import machine as machine_module
from vedette.doctor.build import advice, describe, installed_build, parse_system_info
from vedette.doctor.machine import Memory, disk_free_bytes, this_machine, within_limit
from vedette.errors import EngineFailed

XEON = """\
processor\t: 0
model\t\t: 143
model name\t: Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz
flags\t\t: fpu sse pni ssse3 fma avx f16c avx2 bmi2 avx512f avx512vbmi avx512_vnni amx_tile amx_int8

processor\t: 1
model name\t: another
flags\t\t: fpu
"""
GRAVITON = """\
processor\t: 0
Features\t: fp asimd evtstrm asimdhp asimddp sve i8mm
CPU implementer\t: 0x41
CPU part\t: 0xd40
"""
RASPBERRY = """\
processor\t: 0
Features\t: half thumb fastmult vfp edsp neon vfpv3
CPU part\t: 0xd03

Hardware\t: BCM2835
Model\t\t: Raspberry Pi 3 Model B
"""
NATIVE_X86 = (
    "CPU : SSE3 = 1 | SSSE3 = 1 | AVX = 1 | AVX2 = 1 | F16C = 1 | FMA = 1 | BMI2 = 1 | "
    "AVX512 = 1 | LLAMAFILE = 1 | OPENMP = 1 | REPACK = 1 | "
)
PLAIN_X86 = "CPU : SSE3 = 1 | SSSE3 = 1 | AVX = 0 | OPENMP = 1 | "
ARM = "CPU : NEON = 1 | ARM_FMA = 1 | FP16_VA = 1 | DOTPROD = 1 | SVE_CNT = 16 | "
X86_FEATURES = ("SSE3", "SSSE3", "AVX", "AVX2", "F16C", "FMA", "BMI2", "AVX512")


@pytest.mark.parametrize(
    ("cpuinfo", "name", "flags", "features"),
    [
        (
            XEON,
            "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz",
            {"avx2", "avx512f", "avx512_vnni", "amx_tile"},
            {"AVX2", "AVX512", "AVX512_VNNI", "AMX_INT8"},
        ),
        (GRAVITON, "ARM, part 0xd40", {"asimd", "asimddp", "i8mm"}, {"NEON", "DOTPROD", "SVE"}),
        (RASPBERRY, "BCM2835", {"asimd"}, {"NEON"}),
        ("", "", set(), set()),
    ],
)
def test_name_and_features_are_read_from_the_first_processor(cpuinfo, name, flags, features):
    found = parse_flags(cpuinfo)
    assert parse_name(cpuinfo) == name
    assert flags <= set(relevant_flags(found))
    assert features <= set(features_of(found))
    assert bool(features) == bool(features_of(found))
    assert "fpu" not in relevant_flags(found)


def test_half_of_amx_is_no_amx():
    assert "AMX_INT8" not in features_of(frozenset({"amx_tile"}))


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("max 100000\n", None), ("50000 100000\n", 0.5), ("400000 100000", 4.0), ("", None)],
)
def test_a_container_grants_a_share_of_time(text, cpus):
    assert parse_quota(text) == cpus


@pytest.mark.parametrize(
    ("text", "backends"),
    [
        (PLAIN_X86, {"CPU": {"SSE3": "1", "SSSE3": "1", "AVX": "0", "OPENMP": "1"}}),
        (
            "CUDA : ARCHS = 500,890 | USE_GRAPHS = 1 | CPU : AVX2 = 1 | ",
            {"CUDA": {"ARCHS": "500,890", "USE_GRAPHS": "1"}, "CPU": {"AVX2": "1"}},
        ),
        ("BLAS : CPU : NEON = 1 | ", {"BLAS": {}, "CPU": {"NEON": "1"}}),
        ("", {}),
    ],
)
def test_system_info_is_told_apart_by_backend(text, backends):
    assert parse_system_info(text) == backends


@pytest.mark.parametrize(
    ("system_info", "cpu_features", "kind", "unused", "missing"),
    [
        (NATIVE_X86, X86_FEATURES, "native", (), ()),
        (PLAIN_X86, ("SSE3", "SSSE3", "AVX", "AVX2"), "generic", ("AVX", "AVX2"), ()),
        (NATIVE_X86, X86_FEATURES[:-1], "foreign", (), ("AVX512",)),
        (NATIVE_X86, (*X86_FEATURES, "AMX_INT8"), "generic", ("AMX_INT8",), ()),
        (ARM, ("NEON", "FP16_VA", "DOTPROD"), "native", (), ()),
        (ARM, ("NEON", "FP16_VA", "DOTPROD", "SVE"), "generic", ("SVE",), ()),
        (NATIVE_X86, None, "unknown", (), ()),
        ("", X86_FEATURES, "unknown", (), ()),
    ],
)
def test_a_build_is_held_against_the_cpu(system_info, cpu_features, kind, unused, missing):
    build = describe(system_info, cpu_features)
    assert (build.kind, build.unused, build.missing) == (kind, unused, missing)


def test_a_generic_build_is_advised_to_be_built_in_the_same_version():
    text = advice(describe(PLAIN_X86, ("SSE3", "SSSE3", "AVX2")), "0.3.36")
    assert "AVX2, which this build" in text
    assert "GGML_NATIVE=ON" in text
    assert text.endswith("llama-cpp-python==0.3.36")


def test_a_foreign_build_is_advised_against():
    assert "needs AVX512, which the CPU lacks" in advice(
        describe(NATIVE_X86, X86_FEATURES[:-1]), "0.3.36"
    )


@pytest.mark.parametrize("features", [X86_FEATURES, None])
def test_no_advice_where_nothing_is_to_be_done(features):
    assert advice(describe(NATIVE_X86, features), "0.3.36") == ""


def test_the_installed_library_says_what_it_uses():
    cpu = dataclasses.replace(this_cpu(), features=None)
    build = installed_build(cpu)
    assert "CPU" in build.backends
    assert build.kind == "unknown"


@pytest.mark.parametrize("error", [ImportError, RuntimeError, FileNotFoundError])
def test_a_library_that_cannot_be_loaded_is_a_typed_error(monkeypatch, error):
    real = builtins.__import__

    def broken(name, *args, **kwargs):
        if name == "vedette.engine.llama":
            raise error("no libllama.so")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", broken)
    with pytest.raises(EngineFailed, match=r"cannot be loaded: no libllama\.so"):
        installed_build(this_cpu())


def test_a_system_without_proc_is_still_described(monkeypatch, tmp_path):
    def no_proc():
        raise FileNotFoundError("/proc/meminfo")

    monkeypatch.setattr(cpu_module, "CPUINFO", tmp_path / "none")
    monkeypatch.setattr(cpu_module, "CPU_QUOTA", tmp_path / "none")
    monkeypatch.setattr(machine_module.psutil, "virtual_memory", no_proc)
    machine = this_machine(tmp_path)
    assert machine.cpu.name
    assert (machine.cpu.features, machine.cpu.flags, machine.memory) == (None, None, None)


def test_memory_is_no_more_than_the_container_grants():
    memory = Memory(total_bytes=100, available_bytes=60)
    assert within_limit(memory, "50\n") == Memory(total_bytes=50, available_bytes=50)
    assert within_limit(memory, "80") == Memory(total_bytes=80, available_bytes=60)
    assert within_limit(memory, "max\n") == memory
    assert within_limit(memory, "") == memory


def test_the_disk_of_a_folder_that_is_not_there_yet_is_its_parents(tmp_path):
    assert (disk_free_bytes(tmp_path / "a" / "b") or 0) > 0
