"""T(n) on this machine: kept curves are used under their own conditions only, copies if wanted."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tiny_gguf import build_tiny
from vedette.models import tuned
from vedette.models.fingerprint import file_sha256
from vedette.models.home import make_dir
from vedette.models.tuned import Tuning
from vedette.spec.measure import Conditions, measured_models
from vedette.spec.model_file import ModelFile, read_model

CONDITIONS = Conditions(seconds=0.1, threads=1, kv_type="f16", use_tuned=True)
KEPT = ((1, 1.0), (2, 1.5), (4, 1.6))


@pytest.fixture
def source(tiny_full: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelFile:
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return read_model(str(tiny_full))


def keep(source: ModelFile, *, copied: bool) -> Tuning:
    sha256 = file_sha256(Path(source.where))
    make_dir(tuned.beside(sha256, ".json").parent)
    copy = None
    if copied:
        made = tuned.beside(sha256, ".gguf").with_name("made.gguf")
        shutil.copyfile(source.where, made)
        copy = tuned.adopt(made, sha256, "IQ4_NL")
    tuning = Tuning(
        name=source.name,
        source_sha256=sha256,
        machine="this",
        build="this",
        date="2026-12-03",
        copy=copy,
        threads=1,
        kv_type="f16",
        tokens=KEPT,
        sequences=KEPT,
        report={},
    )
    tuned.keep(tuning)
    return tuning


def test_nothing_kept_is_measured(source: ModelFile):
    models, measured = measured_models([source, source], CONDITIONS)
    assert models == [source, source]
    assert measured.where == "measured here on 1 threads"
    assert 0 < measured.target.seconds(1) < 1
    assert measured.draft is not None


def test_a_kept_curve_of_the_source_is_used(source: ModelFile):
    keep(source, copied=False)
    models, measured = measured_models([source], CONDITIONS)
    assert models == [source]
    assert [measured.target.seconds(n) for n, _ in KEPT] == [seconds for _, seconds in KEPT]
    assert measured.where == "measured by vedette tune on 1 threads, 2026-12-03"


def test_a_kept_curve_is_not_set_against_one_of_today(source: ModelFile, tmp_path: Path):
    keep(source, copied=False)
    other = read_model(str(build_tiny("full", tmp_path / "other.gguf", seed=9)))
    _, measured = measured_models([source, other], CONDITIONS)
    assert measured.where == "measured here on 1 threads"
    assert measured.target.seconds(1) < 1


@pytest.mark.parametrize("change", [{"threads": 2}, {"kv_type": "f32"}])
def test_under_other_conditions_it_is_measured_again(source: ModelFile, change: dict[str, object]):
    keep(source, copied=False)
    _, measured = measured_models([source], replace(CONDITIONS, **change))  # type: ignore[arg-type]
    assert measured.where.startswith("measured here")


def test_a_copy_is_planned_for_unless_it_is_not_wanted(source: ModelFile):
    tuning = keep(source, copied=True)
    (model,), measured = measured_models([source], CONDITIONS)
    assert model.where == str(tuning.path)
    assert model.name == f"{source.name}, tuned (IQ4_NL)"
    assert measured.target.seconds(2) == 1.5
    (model,), measured = measured_models([source], replace(CONDITIONS, use_tuned=False))
    assert model == source
    assert measured.where.startswith("measured here")
