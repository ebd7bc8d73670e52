"""What is no LoRA adapter, or not this model's, is refused by its header, with the reason."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tiny_gguf import TINY_KINDS
from tiny_lora import ARCHITECTURES, HEAD, adapter_writer, finished, make_lora, matrices
from vedette.errors import AdapterRefused, FileError, ModelCorrupt
from vedette.models.adapter_file import check_base, read_adapter
from vedette.models.gguf_header import read_header

QUERY = "blk.0.attn_q.weight"


def written(path: Path, tensors, **fields) -> Path:
    writer = adapter_writer(path, **fields)
    for name, shape in tensors.items():
        writer.add_tensor(name, np.ones(shape, np.float32))
    return finished(writer, path)


def factors(name: str = QUERY, a=(4, 64), b=(64, 4)) -> dict[str, tuple[int, ...]]:
    return {f"{name}.lora_a": a, f"{name}.lora_b": b}


@pytest.mark.parametrize("kind", TINY_KINDS)
def test_an_adapter_says_what_it_is_and_goes_with_its_base(tiny_models, kind, tmp_path):
    path = make_lora(kind, tiny_models[kind], seed=0, rank=3, names=matrices(kind)).write(
        tmp_path / "lora.gguf"
    )
    found = read_adapter(path)
    assert (found.architecture, found.alpha, found.rank) == (ARCHITECTURES[kind], 8.0, 3)
    assert list(found.pairs) == matrices(kind)
    check_base(found, read_header(tiny_models[kind]), "the base")


def test_what_an_adapter_says_it_is_for_is_told(tmp_path):
    writer = adapter_writer(tmp_path / "lora.gguf", alpha=None)
    writer.add_string("adapter.lora.task_name", "terse")
    writer.add_string("adapter.lora.prompt_prefix", "Be terse.")
    for name, shape in factors().items():
        writer.add_tensor(name, np.ones(shape, np.float32))
    found = read_adapter(finished(writer, tmp_path / "lora.gguf"))
    assert (found.task_name, found.prompt_prefix, found.alpha) == ("terse", "Be terse.", 0.0)


@pytest.mark.parametrize(
    ("tensors", "fields", "words"),
    [
        (factors(), {"kind": "model"}, "its general.type is 'model'"),
        (factors(), {"kind": ""}, "its general.type is 'missing'"),
        (factors(), {"architecture": "controlvector"}, "it is a control vector"),
        (factors(), {"how": "dora"}, "its adapter.type is 'dora'"),
        (factors(), {"alpha": float("inf")}, "its adapter.lora.alpha is inf"),
        ({}, {}, "there is nothing in it"),
        ({f"{QUERY}.lora_a": (4, 64)}, {}, f"of {QUERY} it has only one factor"),
        ({"blk.0.attn_norm.weight": (64,)}, {}, "is a norm, which llama.cpp leaves as it is"),
        ({"blk.0.attn_q.bias": (64,)}, {}, "is no factor of a matrix"),
        (factors(a=(2, 4, 64)), {}, "has 3 dimensions"),
    ],
)
def test_what_is_no_lora_adapter_is_refused(tensors, fields, words, tmp_path):
    path = written(tmp_path / "lora.gguf", tensors, **fields)
    with pytest.raises(AdapterRefused, match=words):
        read_adapter(path)


def test_an_activated_lora_is_refused(tmp_path):
    writer = adapter_writer(tmp_path / "lora.gguf")
    writer.add_array("adapter.alora.invocation_tokens", [1, 2, 3])
    with pytest.raises(AdapterRefused, match=r"\(aLoRA\)"):
        read_adapter(finished(writer, tmp_path / "lora.gguf"))


@pytest.mark.parametrize("add", ["add_uint32", "add_float64"])
def test_an_alpha_of_another_type_would_end_the_process(add, tmp_path):
    writer = adapter_writer(tmp_path / "lora.gguf", alpha=None)
    getattr(writer, add)("adapter.lora.alpha", 8)
    with pytest.raises(AdapterRefused, match="is not a 32-bit float"):
        read_adapter(finished(writer, tmp_path / "lora.gguf"))


def test_numbers_that_are_no_floats_are_refused(tmp_path):
    writer = adapter_writer(tmp_path / "lora.gguf")
    writer.add_tensor(f"{QUERY}.lora_a", np.ones((4, 64), np.int32))
    with pytest.raises(AdapterRefused, match="is I32, and not F32, F16, BF16, Q8_0"):
        read_adapter(finished(writer, tmp_path / "lora.gguf"))


@pytest.mark.parametrize(
    ("tensors", "words"),
    [
        (factors("blk.7.attn_q.weight"), "changes blk.7.attn_q.weight, which the model does not"),
        (factors(a=(4, 32)), "is 64x64 in the model, and the adapter's factors are 32x4 and 4x64"),
        (factors(b=(32, 4)), "is 64x64 in the model, and the adapter's factors are 64x4 and 4x32"),
        (factors(b=(64, 8)), "the adapter's factors are 64x4 and 8x64"),  # two ranks
        (factors(a=(64, 4), b=(4, 64)), "the adapter's factors are 4x64 and 64x4"),
    ],
)
def test_what_does_not_fit_the_base_is_refused(tiny_full, tensors, words, tmp_path):
    adapter = read_adapter(written(tmp_path / "lora.gguf", tensors))
    with pytest.raises(AdapterRefused, match=words):
        check_base(adapter, read_header(tiny_full), "tiny")


def test_what_the_model_has_but_llama_cpp_applies_nothing_to_is_refused(tiny_full, tmp_path):
    tensors = factors("blk.0.attn_q.bias", b=(1, 4))
    adapter = read_adapter(written(tmp_path / "lora.gguf", tensors))
    with pytest.raises(AdapterRefused, match="applies no adapter to"):
        check_base(adapter, read_header(tiny_full), "tiny")


def test_an_embedding_that_is_the_output_matrix_too_is_refused(tiny_full, tmp_path):
    embedding = HEAD[1]
    lora = make_lora("full", tiny_full, seed=0, names=[embedding])
    adapter = read_adapter(lora.write(tmp_path / "lora.gguf"))
    header = read_header(tiny_full)
    check_base(adapter, header, "tiny")
    tied = replace(header, tensors=tuple(t for t in header.tensors if t.name != "output.weight"))
    with pytest.raises(AdapterRefused, match="uses as its output matrix too"):
        check_base(adapter, tied, "tiny")


def test_a_base_of_another_architecture_is_named(tiny_models, tmp_path):
    lora = make_lora("full", tiny_models["full"], seed=0)
    adapter = read_adapter(lora.write(tmp_path / "terse.gguf"))
    with pytest.raises(
        AdapterRefused, match=r"terse.gguf does not go with tiny: .*'gemma3'"
    ) as told:
        check_base(adapter, read_header(tiny_models["sliding"]), "tiny")
    assert told.value.hint


def test_a_file_that_is_no_gguf_or_is_not_there_is_said_so(tmp_path):
    (tmp_path / "text.gguf").write_text("no")
    with pytest.raises(ModelCorrupt):
        read_adapter(tmp_path / "text.gguf")
    with pytest.raises(FileError):
        read_adapter(tmp_path / "missing.gguf")
