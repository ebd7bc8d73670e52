"""Names, what they find on this machine, and the sentence where they find nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weights_fakes import model_of, noise, sha256

from vedette.errors import FileError, HashMismatch, ModelNotFound, VedetteError
from vedette.models import locate, store
from vedette.models.catalogue import catalogue
from vedette.models.fingerprint import file_sha256
from vedette.models.home import home, make_dir, models_dir
from vedette.models.locate import resolve
from vedette.models.names import HubName, LocalFile, RegistryName, matches, parse_name
from vedette.models.partial import Partial
from vedette.models.registry import HubFile, Model

CONTENT = noise(500)


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Model:
    """A model that was pulled."""
    model = model_of(CONTENT, HubFile(repo="a/b", file="c.gguf"))
    monkeypatch.setattr(locate, "registry", lambda: {"tiny": model})
    make_dir(models_dir())
    with Partial(store.beside(model, ".partial"), model.size_bytes) as partial:
        partial.write(CONTENT)
        store.adopt(partial, model, "a test")
    return model


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("smollm2-135m", RegistryName("smollm2-135m")),
        ("hf:u/r:Q8_0", HubName("u/r", quant="Q8_0")),
        ("hf:u/r", HubName("u/r", quant="Q4_K_M")),
        ("hf:u/r/a/b.gguf", HubName("u/r", file="a/b.gguf")),
        ("a.gguf", LocalFile(Path("a.gguf"))),
        ("./x", LocalFile(Path("x"))),
        ("~/x", LocalFile(Path.home() / "x")),
    ],
)
def test_a_name_means_what_it_looks_like(text: str, meant: object):
    assert parse_name(text) == meant


@pytest.mark.parametrize(
    "text",
    ["", "hf:", "hf:u", "hf:u/", "hf:u/r:", "hf:u/r/a.bin", "hf:../r", "hf:u/r/../x.gguf",
     "hf:u/r/a.gguf:Q4", "hf:u//a.gguf"],
)  # fmt: skip
def test_what_is_no_name_is_refused_in_one_sentence(text: str):
    with pytest.raises(ModelNotFound) as raised:
        parse_name(text)
    assert "\n" not in str(raised.value)


@given(st.text(max_size=40))
def test_any_text_is_a_name_or_a_clear_refusal(text: str):
    try:
        named = parse_name(text)
    except ModelNotFound:
        return
    assert isinstance(named, (RegistryName, HubName, LocalFile))


@pytest.mark.parametrize(
    ("file", "fits"),
    [
        ("m-Q4_K_M.gguf", True),
        ("sub/m.q4_k_m.gguf", True),
        ("q4_k_m.gguf", True),
        ("m-Q4_K_M-00001-of-00002.gguf", True),
        ("m-IQ4_K_M.gguf", False),
        ("m-Q4_K_M_L.gguf", False),
        ("mmproj-Q4_K_M.gguf", False),
        ("m-Q4_K_M.bin", False),
    ],
)
def test_a_quantisation_is_matched_as_a_whole_word_at_the_end(file: str, fits: bool):
    assert matches(HubName("u/r", quant="Q4_K_M"), file) == fits


def test_what_was_pulled_is_found_with_all_that_is_known(kept: Model):
    found = locate.locate("tiny")
    assert (found.name, found.sha256, found.size_bytes) == ("tiny", sha256(CONTENT), 500)
    assert found.path.read_bytes() == CONTENT
    assert locate.locate(str(found.path)) == found


def test_a_path_is_found_as_it_is(tmp_path: Path):
    (tmp_path / "own.gguf").write_bytes(CONTENT)
    found = locate.locate("own.gguf")
    assert (found.path, found.sha256, found.size_bytes) == (Path("own.gguf"), None, 500)


def test_a_registry_model_that_is_missing_names_the_command_that_fetches_it():
    with pytest.raises(ModelNotFound) as raised:
        resolve("smollm2-135m")
    assert str(raised.value) == (
        "the model smollm2-135m is not on this machine "
        "(`vedette pull smollm2-135m` fetches it, 98.4 MB)"
    )


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("smollm2", ModelNotFound, "did you mean smollm2-135m"),
        ("zzz", ModelNotFound, "known names: smollm2-135m, qwen2.5-coder-0.5b"),
        ("hf:u/r:Q8_0", ModelNotFound, "`vedette pull hf:u/r:Q8_0` fetches it"),
        ("no/such.gguf", ModelNotFound, "there is no file no/such.gguf"),
        ("/", FileError, "/ is not a file"),
    ],
)
def test_what_is_not_here_is_one_sentence(name: str, kind: type[VedetteError], said: str):
    with pytest.raises(kind) as raised:
        resolve(name)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_changed_file_is_caught_by_its_hash(kept: Model):
    path = store.beside(kept, ".gguf")
    path.write_bytes(noise(500, seed=1))
    with pytest.raises(HashMismatch) as raised:
        resolve("tiny")
    assert sha256(noise(500, seed=1)) in raised.value.message
    assert kept.sha256 in raised.value.message


def test_a_touched_file_is_hashed_again_and_kept(kept: Model):
    path = store.beside(kept, ".gguf")
    os.utime(path, ns=(1, 1))
    assert resolve("tiny") == path
    assert next(store.manifests()).mtime_ns == 1


def test_a_file_without_its_manifest_is_not_complete(kept: Model):
    store.beside(kept, ".json").unlink()
    with pytest.raises(ModelNotFound):
        resolve("tiny")


def test_a_manifest_without_its_file_is_ignored(kept: Model):
    store.beside(kept, ".gguf").unlink()
    with pytest.raises(ModelNotFound):
        resolve("tiny")


def test_a_damaged_manifest_is_said_with_its_path(kept: Model):
    manifest = store.beside(kept, ".json")
    manifest.write_text("{")
    with pytest.raises(FileError, match=r"tiny-.*\.json is not a manifest"):
        resolve("tiny")


def test_a_hash_is_remembered_until_the_file_changes(tmp_path: Path):
    path = tmp_path / "x"
    path.write_bytes(b"one")
    assert file_sha256(path) == file_sha256(path) == sha256(b"one")
    note = next((home() / "hashes").iterdir())
    note.write_text(note.read_text().replace(sha256(b"one"), sha256(b"remembered")))
    assert file_sha256(path) == sha256(b"remembered")
    path.write_bytes(b"other")
    assert file_sha256(path) == sha256(b"other")


def test_a_torn_memory_of_a_hash_does_no_harm(tmp_path: Path):
    path = tmp_path / "x"
    path.write_bytes(b"one")
    file_sha256(path)
    next((home() / "hashes").iterdir()).write_text('{"path"')
    assert file_sha256(path) == sha256(b"one")


def test_the_catalogue_tells_what_is_here_and_what_is_not(
    kept: Model, monkeypatch: pytest.MonkeyPatch
):
    half = model_of(noise(100, seed=5), HubFile(repo="a/b", file="d.gguf"), name="half")
    gone = model_of(noise(100, seed=6), HubFile(repo="a/b", file="e.gguf"), name="gone")
    table = {"half": half, "gone": gone}
    monkeypatch.setattr("vedette.models.catalogue.registry", lambda: table)
    store.beside(half, ".partial").write_bytes(bytes(40))
    rows = [(row.name, row.place, row.present_bytes) for row in catalogue()]
    assert rows == [("half", "partly here", 40), ("gone", "not here", 0), ("tiny", "here", 500)]
