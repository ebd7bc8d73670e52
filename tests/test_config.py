"""Settings: which source wins, where a value came from, and what every mistake says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from vedette import config
from vedette.config import Origin, load
from vedette.errors import FileError, InputError


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No variable set, an empty working directory."""
    for name in list(os.environ):
        if name.upper().startswith("VEDETTE_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_flag_beats_variable_beats_file_beats_default(bare, monkeypatch):
    assert (load().width, load().origin("width")) == (8, Origin("default"))
    (bare / "vedette.toml").write_text("width = 3\n")
    in_file = Origin("file", str(bare / "vedette.toml"))
    assert (load().width, load().origin("width")) == (3, in_file)
    monkeypatch.setenv("VEDETTE_WIDTH", "4")
    assert (load().width, load().origin("width")) == (4, Origin("environment", "VEDETTE_WIDTH"))
    assert (load(width=5).width, load(width=5).origin("width")) == (5, Origin("flag"))


def test_a_flag_that_was_not_given_changes_nothing(monkeypatch):
    monkeypatch.setenv("VEDETTE_WIDTH", "4")
    settings = load(width=None)
    assert (settings.width, settings.origin("width").kind) == (4, "environment")


def test_a_flag_may_be_false(monkeypatch):
    monkeypatch.setenv("VEDETTE_OFFLINE", "true")
    assert load().offline is True
    assert load(offline=False).offline is False


def test_an_empty_variable_counts_as_unset(bare, monkeypatch):
    (bare / "vedette.toml").write_text('model = "other"\n')
    monkeypatch.setenv("VEDETTE_MODEL", "")
    settings = load()
    assert (settings.model, settings.origin("model").kind) == ("other", "file")


def test_auto_undoes_a_value_set_further_down(bare, monkeypatch):
    (bare / "vedette.toml").write_text("threads = 7\n")
    monkeypatch.setenv("VEDETTE_THREADS", "auto")
    settings = load()
    assert (settings.threads, settings.origin("threads").kind) == (None, "environment")


def test_threads_are_the_cores_this_process_may_use_unless_set(monkeypatch):
    monkeypatch.setattr(config, "usable_cores", lambda: 6)
    assert load().thread_count == 6
    assert load(threads=3).thread_count == 3


def test_usable_cores_respect_the_cpu_affinity(monkeypatch):
    monkeypatch.setattr(config.psutil, "cpu_count", lambda logical: 8)
    monkeypatch.setattr(config.os, "sched_getaffinity", lambda pid: {0, 1, 2}, raising=False)
    assert config.usable_cores() == 3


def test_the_file_may_be_named_by_a_variable(bare, monkeypatch):
    (bare / "elsewhere.toml").write_text("batch_tokens = 64\n")
    monkeypatch.setenv("VEDETTE_CONFIG", str(bare / "elsewhere.toml"))
    settings = load()
    assert settings.batch_tokens == 64
    assert settings.origin("batch_tokens") == Origin("file", str(bare / "elsewhere.toml"))


def test_relative_home_is_meant_from_where_it_was_written(bare, monkeypatch):
    (bare / "conf").mkdir()
    (bare / "conf" / "v.toml").write_text('home = "cache"\n')
    monkeypatch.setenv("VEDETTE_CONFIG", "conf/v.toml")
    assert load().home == bare / "conf" / "cache"
    monkeypatch.setenv("VEDETTE_HOME", "cache")
    assert load().home == bare / "cache"


def test_a_relative_files_dir_is_meant_from_where_it_was_written(bare, monkeypatch):
    (bare / "conf").mkdir()
    (bare / "conf" / "v.toml").write_text('files_dir = "kept"\n')
    assert load().files_dir is None
    monkeypatch.setenv("VEDETTE_CONFIG", "conf/v.toml")
    assert load().files_dir == bare / "conf" / "kept"
    assert load(files_dir="here").files_dir == bare / "here"
    assert load(files_dir="auto").files_dir is None


def test_tilde_in_home_is_the_users_home(monkeypatch):
    monkeypatch.setenv("HOME", "/somewhere")
    monkeypatch.setenv("VEDETTE_HOME", "~/kept")
    assert load().home == Path("/somewhere/kept")


def test_settings_cannot_be_changed_in_place():
    with pytest.raises(ValidationError, match="frozen"):
        load().width = 3


@pytest.mark.parametrize(
    ("given", "meant"),
    [("VEDETTE_WIDHT", "VEDETTE_WIDTH"), ("VEDETTE_CONTEXT", "VEDETTE_CONTEXT_TOKENS")],
)
def test_a_misspelt_variable_is_refused_with_the_nearest_one(monkeypatch, given, meant):
    monkeypatch.setenv(given, "1")
    with pytest.raises(InputError, match=f"variable {given}") as refused:
        load()
    assert refused.value.hint == f"Did you mean {meant}?"


def test_a_misspelt_key_is_refused_with_file_and_nearest_one(bare):
    (bare / "vedette.toml").write_text("kvtype = 'f16'\n")
    with pytest.raises(InputError, match=r"setting kvtype in .*vedette\.toml") as refused:
        load()
    assert refused.value.hint == "Did you mean kv_type?"


def test_a_name_like_no_other_is_refused_with_all_valid_ones(bare):
    (bare / "vedette.toml").write_text("[zzz]\n")
    with pytest.raises(InputError) as refused:
        load()
    assert refused.value.hint is not None
    assert all(name in refused.value.hint for name in config.names())


def test_a_wrong_value_names_its_place_and_what_it_should_be(bare, monkeypatch):
    (bare / "vedette.toml").write_text("width = 0\n")
    with pytest.raises(InputError, match=r"width in .*vedette\.toml is 0: it should be greater"):
        load()
    monkeypatch.setenv("VEDETTE_WIDTH", "many")
    with pytest.raises(InputError, match="VEDETTE_WIDTH is 'many': it should be a valid integer"):
        load()
    with pytest.raises(InputError, match=r"^width is 1\.5: it should be a valid integer"):
        load(width=1.5)


def test_a_file_that_is_asked_for_must_exist(bare, monkeypatch):
    monkeypatch.setenv("VEDETTE_CONFIG", "nowhere.toml")
    with pytest.raises(FileError, match=r"VEDETTE_CONFIG names .*nowhere\.toml"):
        load()


@pytest.mark.parametrize("content", [b"width = = 3\n", b"model = '\xff'\n"])
def test_a_file_that_is_no_toml_is_refused(bare, content):
    (bare / "vedette.toml").write_bytes(content)
    with pytest.raises(FileError, match=r"vedette\.toml is not valid TOML"):
        load()


def test_a_file_that_cannot_be_read_is_refused(bare):
    (bare / "vedette.toml").mkdir()
    with pytest.raises(FileError, match=r"vedette\.toml cannot be read"):
        load()
