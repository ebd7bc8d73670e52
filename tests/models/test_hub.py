"""Hugging Face as a source: any position, dropped lines, wrong files, names, and its cache."""

from __future__ import annotations

from pathlib import Path

import pytest
from huggingface_hub import constants
from weights_fakes import FILE, REPO, Hub, Recorder, model_of, noise, sha256

from vedette.errors import HashMismatch, ModelError, ModelNotFound
from vedette.models import home as home_module
from vedette.models import locate, store
from vedette.models.locate import resolve
from vedette.models.pull import fetch, pull
from vedette.models.registry import HubFile, Model

CONTENT = noise(3 << 20)


@pytest.fixture
def served(hub: Hub) -> Model:
    hub.files[FILE] = CONTENT
    return model_of(CONTENT, HubFile(repo=REPO, file=FILE))


def partly(model: Model, n_bytes: int) -> None:
    home_module.make_dir(home_module.models_dir())
    store.beside(model, ".partial").write_bytes(CONTENT[:n_bytes])


@pytest.mark.parametrize("ignore_ranges", [False, True])
def test_a_pull_goes_on_from_any_byte_even_if_the_server_starts_over(
    hub: Hub, served: Model, ignore_ranges: bool
):
    hub.ignore_ranges = ignore_ranges
    partly(served, 1_234_567)
    heard = Recorder()
    assert fetch(served, heard).read_bytes() == CONTENT
    assert hub.ranges == ["bytes=1234567-"]
    assert heard.done_bytes == len(CONTENT)


def test_a_line_that_drops_again_and_again_is_taken_up_while_it_moves(hub: Hub, served: Model):
    hub.cut_after_bytes = 1 << 20
    heard = Recorder()
    assert fetch(served, heard).read_bytes() == CONTENT
    assert hub.ranges == [None, "bytes=1048576-", "bytes=2097152-"]
    assert sum(note.endswith("going on") for note in heard.notes) == 2


def test_a_line_that_moves_nothing_is_given_up_and_keeps_what_is_there(hub: Hub, served: Model):
    hub.cut_after_bytes = 0
    partly(served, 500)
    with pytest.raises(ModelNotFound, match="Hugging Face"):
        fetch(served, Recorder())
    assert store.beside(served, ".partial").stat().st_size == 500


def test_another_file_under_the_name_is_refused_before_it_is_fetched(hub: Hub, served: Model):
    hub.files[FILE] = noise(len(CONTENT), seed=1)
    with pytest.raises(ModelNotFound, match="now holds another version"):
        fetch(served, Recorder())
    assert hub.ranges == []


def test_a_file_that_is_gone_is_said(hub: Hub, served: Model):
    hub.files.clear()
    with pytest.raises(ModelNotFound, match="no such file in the repository"):
        fetch(served, Recorder())


def test_the_token_goes_along(hub: Hub, served: Model, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    fetch(served, Recorder())
    assert hub.tokens == ["Bearer hf_secret"]


@pytest.mark.parametrize("name", [f"hf:{REPO}:Q4_K_M", f"hf:{REPO}", f"hf:{REPO}/{FILE}"])
def test_a_repository_name_is_pulled_then_found_without_a_network(
    hub: Hub, name: str, monkeypatch: pytest.MonkeyPatch
):
    hub.files |= {FILE: CONTENT, "tiny-q8_0.gguf": b"8", "mmproj-q4_k_m.gguf": b"m"}
    path = pull(name)
    assert path.read_bytes() == CONTENT
    monkeypatch.setenv("VEDETTE_OFFLINE", "1")
    hub.files.clear()
    assert resolve(name) == path
    assert pull(name) == path


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        (["a-q8_0.gguf"], r"is not in the repository \(it holds: a-q8_0\.gguf\)"),
        ([], "it holds: no GGUF file"),
        (["a-q4_k_m.gguf", "b-q4_k_m.gguf"], "means several files"),
        (["a-q4_k_m-00001-of-00002.gguf", "a-q4_k_m-00002-of-00002.gguf"], "split over 2 files"),
    ],
)
def test_a_quantisation_that_is_not_one_file_is_refused(hub: Hub, files: list[str], problem: str):
    hub.files |= dict.fromkeys(files, b"x")
    with pytest.raises(ModelError, match=problem):
        pull(f"hf:{REPO}:Q4_K_M")


def test_an_unreachable_hub_is_one_sentence():
    with pytest.raises(ModelNotFound) as raised:
        pull("hf:someone/thing:Q8_0")
    assert "Hugging Face did not deliver hf:someone/thing:Q8_0: it cannot" in str(raised.value)
    assert "\n" not in str(raised.value)


def in_hub_cache(content: bytes, *, blob: str | None = None, file: str = FILE) -> Path:
    """The file as other tools leave it: a blob named by its hash, a link to it in a snapshot."""
    repo = Path(constants.HF_HUB_CACHE) / f"models--{REPO.replace('/', '--')}"
    target = repo / "blobs" / (blob or sha256(content))
    link = repo / "snapshots" / ("c" * 40) / file
    for path in (target, link):
        path.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    link.symlink_to(target)
    return link


def test_a_file_in_the_hub_cache_is_used_in_place(monkeypatch: pytest.MonkeyPatch, home: Path):
    link = in_hub_cache(CONTENT)
    model = model_of(CONTENT, HubFile(repo=REPO, file=FILE))
    monkeypatch.setattr(locate, "registry", lambda: {"tiny": model})
    for name in ("tiny", f"hf:{REPO}", f"hf:{REPO}:Q4_K_M", f"hf:{REPO}/{FILE}"):
        assert locate.locate(name).sha256 == model.sha256
        assert pull(name) == link
    assert list(home.rglob("*.gguf")) == []


def test_the_hash_of_a_cached_file_is_computed_once(monkeypatch: pytest.MonkeyPatch):
    link = in_hub_cache(CONTENT)
    assert resolve(f"hf:{REPO}") == link
    monkeypatch.setattr("hashlib.file_digest", lambda *args: pytest.fail("hashed again"))
    assert resolve(f"hf:{REPO}") == link


def test_a_cached_file_that_is_not_what_its_blob_says_is_refused():
    in_hub_cache(CONTENT, blob=sha256(b"other"))
    with pytest.raises(HashMismatch) as raised:
        resolve(f"hf:{REPO}")
    assert sha256(CONTENT) in raised.value.message
    assert sha256(b"other") in raised.value.message


def test_another_revision_in_the_cache_is_not_taken_for_the_model(
    monkeypatch: pytest.MonkeyPatch,
):
    in_hub_cache(noise(100))
    model = model_of(CONTENT, HubFile(repo=REPO, file=FILE))
    monkeypatch.setattr(locate, "registry", lambda: {"tiny": model})
    with pytest.raises(ModelNotFound, match="is not on this machine"):
        resolve("tiny")
