"""`vedette doctor` as it is run."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from vedette.cli.main import run
from vedette.config import load
from vedette.doctor import report
from vedette.doctor.build import describe
from vedette.doctor.machine import Memory
from vedette.doctor.measure import WIDTHS, measure
from vedette.doctor.report import check_room, examine, look
from vedette.errors import EngineFailed
from vedette.models.locate import locate

QUICK = ("--seconds", "0.3", "--threads", "1")


def test_every_memory_kind_can_be_measured(tiny_any: Path):
    found = measure(tiny_any, seconds=0.05, threads=1)
    assert found.prefill.tokens == found.prompt_tokens >= 16
    assert [pace.tokens for pace in found.decode] == list(WIDTHS[: len(found.decode)])
    assert all(pace.tokens_per_s > 0 and pace.repeats >= 1 for pace in found.decode)


def test_no_time_at_all_still_measures_the_prompt_and_one_sequence(tiny_full: Path):
    found = measure(tiny_full, seconds=1e-9, threads=1)
    assert [pace.tokens for pace in found.decode] == [1]


def test_a_batch_narrower_than_the_widest_step_is_made_wide_enough(tiny_full: Path):
    found = measure(tiny_full, seconds=0.05, threads=1, batch_tokens=1)
    assert found.prompt_tokens == 16


def test_json_is_one_object_with_measurement_and_verdict(tiny_full: Path, capsys):
    assert run(["doctor", "--model", str(tiny_full), *QUICK, "--json"]) == 0
    out, err = capsys.readouterr()
    body = json.loads(out)
    assert err == ""
    assert set(body) == {
        "machine", "versions", "build", "models", "config_file", "settings", "warnings",
        "problems", "model", "measurement", "verdict", "problem",
    }  # fmt: skip
    assert body["problem"] is None
    assert body["model"] == str(tiny_full)
    assert body["settings"]["threads"] == {"value": 1, "origin": {"kind": "flag", "where": ""}}
    assert body["machine"]["cpu"]["usable_cores"] >= 1
    assert body["measurement"]["prefill"]["tokens_per_s"] > 0
    assert body["verdict"]["lines_per_s"] > 0
    assert body["verdict"]["sentences"]


def test_people_get_the_machine_the_measurement_and_the_verdict(tiny_full: Path, capsys):
    assert run(["doctor", "--model", str(tiny_full), *QUICK]) == 0
    out, err = capsys.readouterr()
    for start in (
        "CPU ",
        "memory ",
        "llama.cpp build ",
        "models here ",
        "prompt of ",
        "decoding 1",
    ):
        assert f"\n{start}" in out
    assert "short log lines/s extracted (45 prompt + 30 answer tokens each" in out
    assert err.startswith(f"measuring {tiny_full} for about 0.3 s")


def test_a_default_model_that_is_not_here_is_named_with_the_command_that_fetches_it(capsys):
    assert run(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "Not measured: the model qwen2.5-coder-0.5b is not on this machine" in out
    assert "`vedette pull qwen2.5-coder-0.5b`" in out


def test_a_missing_model_is_an_object_with_a_problem_in_json(capsys):
    assert run(["doctor", "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert (body["measurement"], body["verdict"]) == (None, None)
    assert body["problem"]["code"] == "model_not_found"


def test_nothing_is_written(home: Path):
    assert run(["doctor"]) == 0
    assert not home.exists()


@pytest.mark.parametrize("content", [None, b"", b"junk", b"GGUF\x03\0\0\0"])
def test_a_named_model_that_cannot_be_measured_is_one_sentence_and_exit_code_2(
    content, tmp_path, capsys
):
    path = tmp_path / "bad.gguf"
    if content is not None:
        path.write_bytes(content)
    assert run(["doctor", "--model", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out.startswith("what ")
    assert err.splitlines()[-1].startswith("vedette: ")
    assert str(path) in err.splitlines()[-1]


def test_a_broken_model_that_is_only_configured_is_told_and_exit_code_0(
    tmp_path, capsys, monkeypatch
):
    (tmp_path / "bad.gguf").write_bytes(b"junk")
    monkeypatch.setenv("VEDETTE_MODEL", "./bad.gguf")
    assert run(["doctor"]) == 0
    assert "Not measured: bad.gguf is not a sound GGUF file" in capsys.readouterr().out


def test_no_seconds_leave_the_measurement_out(tiny_full: Path, capsys):
    assert run(["doctor", "--model", str(tiny_full), "--seconds", "0", "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert (body["measurement"], body["problem"]) == (None, None)


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1", "3601"])
def test_a_time_that_is_none_is_refused(seconds, capsys):
    assert run(["doctor", f"--seconds={seconds}"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "--seconds must be from 0 to 3600" in err


def test_a_generic_build_is_a_warning(monkeypatch, capsys):
    monkeypatch.setattr(
        report, "installed_build", lambda cpu: describe("CPU : SSE3 = 1 | ", ("SSE3", "AVX2"))
    )
    assert run(["doctor", "--seconds", "0"]) == 0
    out = capsys.readouterr().out
    assert "generic: leaves lying AVX2" in out
    assert "Warning: The CPU has AVX2, which this build of llama.cpp does not use" in out


def test_a_build_that_may_crash_is_not_run(tiny_full: Path, monkeypatch):
    monkeypatch.setattr(report, "installed_build", lambda cpu: describe("CPU : AVX2 = 1 | ", ()))
    settings = load(model=str(tiny_full))
    examined = examine(look(settings), settings, seconds=0.1)
    assert examined.measurement is None
    assert "CPU features that are not there" in str(examined.problem)


def test_a_library_that_cannot_be_loaded_leaves_the_rest(tiny_full: Path, monkeypatch, capsys):
    def broken(cpu):
        raise EngineFailed("llama.cpp cannot be loaded: no such file")

    monkeypatch.setattr(report, "installed_build", broken)
    assert run(["doctor", "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["build"] is None
    assert body["problems"][0]["code"] == "engine_failed"
    assert body["machine"]["system"]
    settings = load(model=str(tiny_full))
    assert "cannot be loaded" in str(examine(look(settings), settings, seconds=0.1).problem)


def test_a_model_larger_than_the_memory_is_not_loaded(tiny_full: Path):
    weights = locate(str(tiny_full))
    check_room(weights, None, cells=1024, kv_type="f16")
    with pytest.raises(EngineFailed, match=r"needs .* and 1\.00 kB are available"):
        check_room(
            weights, Memory(total_bytes=10**9, available_bytes=1000), cells=1024, kv_type="f16"
        )


def test_warnings_name_what_holds_this_machine_back(monkeypatch):
    settings = load(threads=5)
    machine = look(settings).machine
    slow = dataclasses.replace(
        machine,
        load=7.0,
        cpu=dataclasses.replace(machine.cpu, cpus=4, usable_cores=2, quota_cpus=1.5),
    )
    monkeypatch.setattr(report, "this_machine", lambda folder: slow)
    warnings = " ".join(look(settings).warnings)
    assert "7.0 processes want the 4 CPUs" in warnings
    assert "the time of 1.5 CPUs to 5 threads; set VEDETTE_THREADS to at most 1" in warnings
    assert "5 threads are set for 2 physical cores" in warnings


def test_a_missing_model_is_answered_with_one_that_is_here(monkeypatch, tiny_full: Path):
    from vedette.models.catalogue import Listed

    row = Listed(
        name="other",
        size_bytes=1,
        present_bytes=1,
        licence="",
        architecture="",
        place="here",
        path=tiny_full,
    )
    monkeypatch.setattr(report, "catalogue", lambda: [row])
    settings = load()
    problem = examine(look(settings), settings, seconds=1).problem
    assert "`vedette doctor --model other` measures one that is here" in str(problem)
