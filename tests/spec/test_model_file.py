"""From a header to bytes by layer, on files written for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFWriter

from vedette.errors import InputError, ModelNotFound
from vedette.models.gguf_header import read_header
from vedette.spec.model_file import model_of, read_model, read_projector_bytes


def write(path: Path, tensors: dict[str, tuple[int, ...]], **keys: int) -> Path:
    """A qwen35 file with these tensors in F32 and these whole numbers."""
    writer = GGUFWriter(path, "qwen3")
    for key, value in keys.items():
        writer.add_uint32(key.replace("__", "."), value)
    for name, shape in tensors.items():
        writer.add_tensor(name, np.zeros(shape, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


KEYS = {
    "qwen3__embedding_length": 64,
    "qwen3__attention__head_count": 4,
    "qwen3__attention__head_count_kv": 2,
    "qwen3__expert_count": 4,
    "qwen3__expert_used_count": 2,
}
LAYERS = {
    "token_embd.weight": (10, 64),
    "output_norm.weight": (64,),
    "blk.0.attn_q.weight": (64, 64),
    "blk.0.ffn_up_exps.weight": (4, 32, 64),
    "blk.1.attn_q.weight": (32, 64),
}
HEAD = {"blk.2.attn_q.weight": (64, 64), "blk.2.nextn.eh_proj.weight": (64, 128)}


def test_layers_experts_embedding_and_output_are_told_apart(tmp_path: Path):
    path = write(tmp_path / "m.gguf", LAYERS, qwen3__block_count=2, **KEYS)
    found = read_model(str(path))
    assert [layer.dense_bytes for layer in found.layers] == [64 * 64 * 4, 32 * 64 * 4]
    assert [layer.expert_bytes for layer in found.layers] == [4 * 32 * 64 * 4, 0]
    assert (found.embedding_bytes, found.output_bytes) == (10 * 64 * 4, 64 * 4)
    assert found.tied
    assert found.read_output_bytes == 10 * 64 * 4 + 64 * 4
    assert found.head_layers == ()
    assert found.weights_bytes == sum(t.size_bytes for t in read_header(path).tensors)
    assert found.where == str(path)


def test_a_prediction_head_is_no_layer_of_the_model(tmp_path: Path):
    path = write(
        tmp_path / "m.gguf",
        LAYERS | HEAD | {"output.weight": (10, 64)},
        qwen3__block_count=3,
        qwen3__nextn_predict_layers=1,
        **KEYS,
    )
    found = read_model(str(path))
    assert len(found.layers) == 2
    assert found.head_bytes == (64 * 64 + 64 * 128) * 4
    assert found.head_memory is not None
    assert found.head_memory.key_values == 2 * 16
    assert not found.tied
    assert found.weights_bytes == sum(t.size_bytes for t in read_header(path).tensors)


def test_the_kinds_of_memory_are_those_of_the_file(tiny_any: Path):
    found = model_of(read_header(tiny_any), "tiny", str(tiny_any))
    assert len(found.memory) == len(found.layers)
    assert any(layer.key_values or layer.state_bytes for layer in found.memory)


def test_a_piece_of_a_split_model_is_refused(tmp_path: Path):
    path = write(tmp_path / "m.gguf", LAYERS, split__count=3, qwen3__block_count=2, **KEYS)
    with pytest.raises(InputError, match="one piece"):
        read_model(str(path))


def test_a_file_without_layers_is_no_language_model(tmp_path: Path):
    path = write(tmp_path / "m.gguf", LAYERS, qwen3__block_count=5, **KEYS)
    with pytest.raises(InputError, match="not a language model"):
        read_model(str(path))
    with pytest.raises(InputError, match="not a projector"):
        read_projector_bytes(str(path))
    with pytest.raises(ModelNotFound, match="no file"):
        read_model(str(tmp_path / "none.gguf"))
