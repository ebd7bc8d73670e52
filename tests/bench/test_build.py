"""What a llama-server's own words say about its build."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_llama_server import write_fake

from vedette.backends.server_program import options_of
from vedette.bench import build
from vedette.bench.build import cpu_flags, describe, identify
from vedette.errors import EngineFailed

LOG = "0.00.1 I common: system_info: n_threads = 2 / 4 | CPU : SSE3 = 1 | AVX = 1 | AVX512 = 1 | \n"
VERSION = "version: 0.1.0-dev (build 1, commit 7e4c0a9)\nbuilt with GNU 11.4.0\n"


def test_a_build_that_uses_all_that_the_cpu_has_is_native():
    found = describe(VERSION, LOG, frozenset({"pni", "avx", "avx512f", "sse2"}))
    assert (found.kind, found.unused) == ("native", ())
    assert found.features == ("SSE3", "AVX", "AVX512")
    assert found.version == "0.1.0-dev (build 1, commit 7e4c0a9)"
    assert found.system_info.startswith("n_threads = 2 / 4 | CPU")


def test_a_build_that_leaves_a_vector_extension_unused_is_generic_and_names_it():
    found = describe(VERSION, LOG, frozenset({"pni", "avx", "avx2", "fma", "avx512f"}))
    assert (found.kind, found.unused) == ("generic", ("AVX2", "FMA"))


def test_a_feature_that_is_printed_as_off_is_unused():
    off = LOG.replace("AVX512 = 1", "AVX512 = 0")
    found = describe(VERSION, off, frozenset({"pni", "avx", "avx512f"}))
    assert (found.kind, found.unused) == ("generic", ("AVX512",))


def test_an_arm_cpu_is_judged_by_its_own_names():
    log = "system_info: n_threads = 4 | CPU : NEON = 1 | ARM_FMA = 1 | DOTPROD = 1 |"
    flags = cpu_flags("processor : 0\nFeatures\t: fp asimd asimddp i8mm\n")
    assert describe(VERSION, log, flags).unused == ("MATMUL_INT8",)


@pytest.mark.parametrize(
    ("log", "flags"), [("no such line", {"avx"}), (LOG, set())], ids=["program", "system"]
)
def test_what_is_not_said_stays_unknown(log, flags):
    found = describe("?", log, frozenset(flags))
    assert (found.kind, found.unused, found.version) == ("unknown", (), "unknown")


def test_the_flags_are_those_of_the_first_processor():
    text = "model name\t: X\nflags\t\t: fpu avx\n\nmodel name\t: X\nflags\t\t: fpu avx2\n"
    assert cpu_flags(text) == {"fpu", "avx"}


def test_a_program_is_asked_at_the_log_level_that_has_the_line(tmp_path, monkeypatch):
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("flags : pni avx avx512f\n")
    monkeypatch.setattr(build, "CPUINFO", cpuinfo)
    found = identify(write_fake(tmp_path))
    assert (found.kind, found.unused) == ("generic", ("AVX512",))
    assert found.version == "4321 (abcdef0)"


def test_options_are_whole_words(tmp_path):
    known = options_of(write_fake(tmp_path))
    assert {"-np", "--parallel", "--no-ui", "--no-ui-mcp-proxy"} <= known
    assert "--no" not in known


def test_a_program_that_cannot_run_here_is_one_sentence(tmp_path):
    program = tmp_path / "llama-server"
    program.write_text("#!/bin/sh\nkill -ILL $$\n")
    program.chmod(0o755)
    with pytest.raises(EngineFailed, match=r"SIGILL.*built for another CPU"):
        identify(program)
    with pytest.raises(EngineFailed, match="cannot be run"):
        identify(Path("/nonexistent/llama-server"))


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("error while loading shared libraries: libllama.so.0: not there", "beside it"),
        ("unknown option", "is it a llama-server"),
    ],
)
def test_a_program_that_does_not_answer_is_quoted(tmp_path, said, hint):
    program = tmp_path / "llama-server"
    program.write_text(f"#!/bin/sh\necho one; echo '{said}'; exit 127\n")
    program.chmod(0o755)
    with pytest.raises(EngineFailed, match=f"exit code 127 and said: {said}.*{hint}"):
        identify(program)
