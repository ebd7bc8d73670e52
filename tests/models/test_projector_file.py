"""A projector's header, held against the model before llama.cpp sees the file."""

from __future__ import annotations

import pytest

from tiny_mmproj import build_mmproj
from vedette.engine.core import EngineCore
from vedette.engine.options import EngineOptions
from vedette.errors import ModelCorrupt, ModelNotFound, ProjectorRefused
from vedette.models.gguf_header import Header, read_header
from vedette.models.projector_file import check_model, read_projector
from vedette.models.projector_place import projector_for


class Notes:
    """A `Progress` that keeps what is said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str) -> None:
        self.lines.append(text)


@pytest.mark.parametrize("kind", ["mlp", "gemma3"])
def test_what_a_header_says(tmp_path, tiny_full, kind):
    found = read_projector(build_mmproj(tmp_path / "mmproj.gguf", kind))
    assert (found.kind, found.width) == (kind, 64)
    check_model(found, read_header(tiny_full), "tiny")


@pytest.mark.parametrize(
    "key",
    [
        "clip.vision.image_mean",
        "clip.vision.image_std",
        "clip.vision.image_size",
        "clip.vision.patch_size",
        "clip.vision.attention.head_count",
        "clip.vision.attention.layer_norm_epsilon",
        "clip.projector_type",
        "clip.has_vision_encoder",
    ],
)
def test_what_is_missing_is_named(tmp_path, key):
    path = build_mmproj(tmp_path / "mmproj.gguf", without=(key,))
    with pytest.raises(ProjectorRefused, match=r"mmproj\.gguf cannot be used") as refused:
        read_projector(path)
    assert key.rpartition(".")[2].replace("has_vision_encoder", "vision encoder") in str(
        refused.value
    )


def test_files_that_are_no_projector(tmp_path, tiny_full):
    with pytest.raises(ProjectorRefused, match=r"general\.architecture is 'qwen2'"):
        read_projector(tiny_full)
    (tmp_path / "text.gguf").write_text("no weights")
    with pytest.raises(ModelCorrupt):
        read_projector(tmp_path / "text.gguf")
    with pytest.raises(ModelNotFound):
        read_projector(tmp_path / "none.gguf")


@pytest.mark.parametrize("kind", ["mlp", "gemma3"])
def test_one_of_another_width_is_refused_before_llama_cpp_sees_it(tmp_path, tiny_full, kind):
    path = build_mmproj(tmp_path / "mmproj.gguf", kind, width=96)
    with pytest.raises(ProjectorRefused, match="vectors of 96 numbers, and the model takes 64"):
        EngineCore(tiny_full, EngineOptions(threads=1, mmproj=path))


def test_positions_in_two_dimensions_are_refused(tmp_path):
    projector = read_projector(build_mmproj(tmp_path / "mmproj.gguf"))
    metadata = {
        "general.architecture": "qwen2vl",
        "qwen2vl.embedding_length": 64,
        "qwen2vl.rope.dimension_sections": (16, 24, 24, 0),
    }
    with pytest.raises(ProjectorRefused, match="M-RoPE"):
        check_model(projector, Header(3, 0, metadata, ()), "two-d")


@pytest.fixture
def folder(tmp_path, tiny_full):
    (tmp_path / "model.gguf").write_bytes(tiny_full.read_bytes())
    return tmp_path


def test_the_one_beside_the_model_is_found_and_said(folder):
    notes = Notes()
    model = folder / "model.gguf"
    assert projector_for(None, model, notes) is None
    assert not notes.lines
    beside = build_mmproj(folder / "mmproj-tiny.gguf")
    assert projector_for(None, model, notes) == beside
    assert projector_for("none", model, notes) is None
    (said,) = notes.lines
    assert str(beside) in said


def test_of_several_none_is_guessed(folder):
    notes = Notes()
    for name in ("mmproj-a.gguf", "mmproj-b.gguf"):
        build_mmproj(folder / name)
    assert projector_for(None, folder / "model.gguf", notes) is None
    assert "mmproj-a.gguf, mmproj-b.gguf" in notes.lines[0]
    named = str(folder / "mmproj-b.gguf")
    assert projector_for(named, folder / "model.gguf", notes) == folder / "mmproj-b.gguf"


def test_one_beside_that_does_not_fit_is_left_out_with_its_reason(folder):
    notes = Notes()
    build_mmproj(folder / "mmproj.gguf", width=96)
    assert projector_for(None, folder / "model.gguf", notes) is None
    assert "the model takes 64" in notes.lines[0]


def test_one_that_is_named_must_be_there(folder):
    with pytest.raises(ModelNotFound, match="no projector file"):
        projector_for(str(folder / "other.gguf"), folder / "model.gguf")
