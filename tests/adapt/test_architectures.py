"""Names and rows of factors on both sides, and the models that can be trained."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from vedette.adapt.architectures import MODULES, as_in_gguf, base_of, turned
from vedette.errors import CapabilityMissing
from vedette.models.gguf_header import read_header


def halves_of(rows, n_heads):
    """The other way: as Transformers stores what it reads from llama.cpp."""
    pairs = rows.reshape(n_heads, rows.shape[0] // n_heads // 2, 2, *rows.shape[1:])
    return pairs.swapaxes(2, 1).reshape(rows.shape)


def test_rows_of_a_head_alternate_between_its_halves():
    assert turned(np.arange(8), 1).tolist() == [0, 4, 1, 5, 2, 6, 3, 7]
    assert turned(np.arange(8), 2).tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


@pytest.mark.parametrize("n_heads", [1, 3, 9])
def test_turning_undoes_what_transformers_does(n_heads):
    rows = np.random.default_rng(0).normal(size=(n_heads * 64, 5))
    np.testing.assert_array_equal(turned(halves_of(rows, n_heads), n_heads), rows)


def factors(n_rows):
    random = np.random.default_rng(1)
    return random.normal(size=(2, 6)), random.normal(size=(n_rows, 2))


def test_only_queries_and_keys_of_llama_are_turned(tiny_full):
    qwen2 = base_of(read_header(tiny_full), "tiny")
    llama = dataclasses.replace(qwen2, architecture="llama")
    trained = {
        f"model.layers.1.{name}": factors(64 if name.endswith("q_proj") else 32)
        for name in ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "mlp.down_proj")
    }
    plain, changed = as_in_gguf(trained, qwen2), as_in_gguf(trained, llama)
    names = ["attn_q", "attn_k", "attn_v", "ffn_down"]
    assert [*plain] == [*changed] == [f"blk.1.{name}.weight" for name in names]
    for name, n_heads in {"attn_q": 4, "attn_k": 2, "attn_v": 0, "ffn_down": 0}.items():
        (a, b), (same_a, new_b) = plain[f"blk.1.{name}.weight"], changed[f"blk.1.{name}.weight"]
        np.testing.assert_array_equal(a, same_a)
        np.testing.assert_array_equal(turned(b, n_heads) if n_heads else b, new_b)
        assert (b is new_b) == (n_heads == 0)


def test_a_layer_that_is_no_matrix_of_ours_is_a_bug(tiny_full):
    with pytest.raises(ValueError, match="lm_head"):
        as_in_gguf({"lm_head": factors(4)}, base_of(read_header(tiny_full), "tiny"))


def test_the_base_says_what_an_adapter_needs(tiny_full):
    base = base_of(read_header(tiny_full), "tiny")
    assert (base.architecture, base.n_heads, base.n_kv_heads) == ("qwen2", 4, 2)
    assert not base.is_packed
    assert len(MODULES) == 7


@pytest.mark.parametrize("kind", ["sliding", "recurrent", "hybrid"])
def test_other_architectures_are_refused(tiny_models, kind):
    with pytest.raises(CapabilityMissing, match="tiny cannot be trained: its architecture"):
        base_of(read_header(tiny_models[kind]), "tiny")


def test_a_model_whose_layers_lack_a_matrix_is_refused(tiny_full):
    header = read_header(tiny_full)
    fewer = tuple(t for t in header.tensors if t.name != "blk.1.ffn_gate.weight")
    with pytest.raises(CapabilityMissing, match="it has no matrix blk"):
        base_of(dataclasses.replace(header, tensors=fewer), "tiny")


def test_scaled_positions_are_refused(tiny_full):
    header = read_header(tiny_full)
    scaled = dataclasses.replace(header.tensors[0], name="rope_freqs.weight")
    with pytest.raises(CapabilityMissing, match="positions are scaled"):
        base_of(dataclasses.replace(header, tensors=(*header.tensors, scaled)), "tiny")
