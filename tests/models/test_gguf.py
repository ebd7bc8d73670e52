"""Whatever the bytes are, reading a GGUF gives facts or one sentence; never a crash."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tiny_gguf import SLIDING_WINDOW, TinyKind
from vedette.cli.models import models
from vedette.cli.show import show
from vedette.errors import FileError, InputError, ModelCorrupt, ModelNotFound
from vedette.models.ggml_types import CACHE_TYPES, GGML_TYPES
from vedette.models.gguf_facts import Facts, read_facts
from vedette.models.gguf_header import LongList, read_header
from vedette.models.memory import estimate_memory, memory_bytes

FUZZ = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def write_gguf(path: Path, arch: str = "llama", *, n_tokens: int = 16, **keys: object) -> Path:
    """A small file of real form; `keys` are written below the architecture's name."""
    writer = gguf.GGUFWriter(path, arch)
    writer.add_token_list([f"token{number}" for number in range(n_tokens)])
    writer.add_token_scores([0.5] * n_tokens)
    writer.add_tokenizer_model("gpt2")
    defaults: dict[str, object] = {"block_count": 2, "embedding_length": 8, "context_length": 64}
    defaults["attention__head_count"] = 2
    for key, value in {**defaults, **keys}.items():
        _add(writer, f"{arch}.{key.replace('__', '.')}", value)
    writer.add_tensor("token_embd.weight", np.zeros((n_tokens, 32), dtype=np.float32))
    writer.add_tensor(
        "output.weight",
        np.zeros((n_tokens, 34), dtype=np.uint8),
        raw_dtype=gguf.GGMLQuantizationType.Q8_0,
    )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add(writer: gguf.GGUFWriter, key: str, value: object) -> None:
    match value:
        case list():
            writer.add_array(key, value)
        case str():
            writer.add_string(key, value)
        case float():
            writer.add_float32(key, value)
        case int() if value >= 1 << 32:
            writer.add_uint64(key, value)
        case int() if value < 0:
            writer.add_int32(key, value)
        case _:
            writer.add_uint32(key, value)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write_gguf(tmp_path_factory.mktemp("gguf") / "sound.gguf").read_bytes()


def facts_or_refusal(path: Path, content: bytes) -> Facts | None:
    """The property: facts that an estimate can be made of, or `ModelCorrupt` in one sentence."""
    path.write_bytes(content)
    refused: ModelCorrupt | None = None
    try:
        facts = read_facts(path)
    except ModelCorrupt as error:
        refused = error
    if refused is not None:
        assert str(path) in refused.message
        assert len(str(refused).splitlines()) == 1
        return None
    assert memory_bytes(facts, 4096) >= facts.weights_bytes
    return facts


@FUZZ
@given(data=st.data())
def test_damaged_bytes_give_facts_or_one_sentence(sound: bytes, tmp_path: Path, data):
    content = bytearray(sound)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        piece = data.draw(st.binary(min_size=1, max_size=9))
        content[at : at + len(piece)] = piece
    facts_or_refusal(tmp_path / "x.gguf", bytes(content))


@FUZZ
@given(data=st.data())
def test_absurd_numbers_anywhere_give_facts_or_one_sentence(sound: bytes, tmp_path: Path, data):
    at = data.draw(st.integers(0, len(sound) - 8))
    number = data.draw(st.sampled_from([0, 1, 255, 1 << 31, (1 << 32) - 1, 1 << 62, (1 << 64) - 1]))
    wide = data.draw(st.booleans())
    piece = struct.pack("<Q", number) if wide else struct.pack("<I", number & 0xFFFFFFFF)
    content = sound[:at] + piece + sound[at + len(piece) :]
    facts_or_refusal(tmp_path / "x.gguf", content)


@FUZZ
@given(length=st.integers(0, 2000))
def test_a_file_that_is_cut_anywhere_is_corrupt(sound: bytes, tmp_path: Path, length: int):
    content = sound[: min(length, len(sound) - 1)]
    assert facts_or_refusal(tmp_path / "x.gguf", content) is None


@FUZZ
@given(content=st.binary(max_size=200).map(lambda tail: b"GGUF\x03\x00\x00\x00" + tail))
def test_noise_after_the_magic_is_corrupt(tmp_path: Path, content: bytes):
    facts = facts_or_refusal(tmp_path / "x.gguf", content)
    assert facts is None or facts.n_parameters == 0


KEYS = st.sampled_from(
    ["block_count", "embedding_length", "context_length", "attention__head_count",
     "attention__head_count_kv", "attention__key_length", "attention__value_length",
     "attention__sliding_window", "attention__sliding_window_pattern", "ssm__state_size",
     "ssm__inner_size", "ssm__conv_kernel", "wkv__head_size", "shortconv__l_cache",
     "full_attention_interval", "attention__shared_kv_layers", "attention__recurrent_layers",
     "nextn_predict_layers", "expert_count", "rope__freq_base", "rope__scaling__type",
     "attention__key_length_mla", "attention__value_length_mla"]
)  # fmt: skip
COUNTS = st.integers(0, 600) | st.sampled_from([1 << 31, 1 << 40, (1 << 64) - 1])
ODD = COUNTS | st.integers(-5, -1) | st.floats(width=32) | st.text(max_size=5)
VALUES = ODD | st.lists(st.integers(-1, 300), min_size=1, max_size=4)
ARCHITECTURES = st.sampled_from(
    ["llama", "gemma2", "gemma3n", "llama4", "lfm2", "mamba", "rwkv7", "falcon-h1", "qwen3next"]
)


@FUZZ
@given(arch=ARCHITECTURES, keys=st.dictionaries(KEYS, VALUES, max_size=6))
def test_odd_metadata_gives_facts_or_one_sentence(tmp_path: Path, arch: str, keys):
    path = write_gguf(tmp_path / "odd.gguf", arch, **keys)
    facts_or_refusal(path, path.read_bytes())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda sound: b"", "it is empty"),
        (lambda sound: b"<!DOCTYPE html>", "it starts with b'<!DO'"),
        (lambda sound: b"version https://git-lfs", "a Git LFS pointer"),
        (lambda sound: sound[:4] + b"\x01\0\0\0" + sound[8:], "its version is 1"),
        (lambda sound: sound[:4] + b"\0\0\0\x03" + sound[8:], "it is big-endian"),
        (lambda sound: sound[:8] + b"\xff" * 8 + sound[16:], "announces 18446744073709551615 ten"),
        (lambda sound: sound[:-1], "it is truncated: .* bytes announced"),
        (lambda sound: sound[:100], "it is truncated|more than it has room for"),
        (
            lambda sound: sound.replace(b"general.architecture", b"general.architectura"),
            "it does not say its architecture",
        ),
    ],
)
def test_what_is_wrong_is_said(sound: bytes, tmp_path: Path, change, said: str):
    path = tmp_path / "x.gguf"
    path.write_bytes(change(sound))
    with pytest.raises(ModelCorrupt, match=said):
        read_facts(path)


def test_a_key_that_stands_twice_is_corrupt(tmp_path: Path):
    path = write_gguf(tmp_path / "x.gguf", key_a=1, key_b=2)
    path.write_bytes(path.read_bytes().replace(b"llama.key_b", b"llama.key_a"))
    with pytest.raises(ModelCorrupt, match=r"'llama\.key_a' stands twice"):
        read_facts(path)


def test_a_file_that_cannot_be_read_is_a_file_error(tmp_path: Path):
    with pytest.raises(FileError, match="cannot read"):
        read_facts(tmp_path / "none.gguf")


def test_long_lists_are_counted_over_any_number_of_blocks(tmp_path: Path):
    n_tokens = 120_000  # about 2 MB of texts, read in blocks of 1 MiB
    path = write_gguf(tmp_path / "long.gguf", n_tokens=n_tokens)
    header = read_header(path)
    assert header.metadata["tokenizer.ggml.tokens"] == LongList(n_tokens)
    assert header.metadata["tokenizer.ggml.scores"] == LongList(n_tokens)
    assert header.metadata["tokenizer.ggml.model"] == "gpt2"
    assert header.tensors[0].n_values == 32 * n_tokens


def test_our_table_of_types_is_that_of_the_gguf_package():
    theirs = {
        int(kind): (kind.name, block, size) for kind, (block, size) in gguf.GGML_QUANT_SIZES.items()
    }
    ours = {
        number: (kind.name, kind.block_values, kind.block_bytes)
        for number, kind in GGML_TYPES.items()
    }
    assert {number: ours.get(number) for number in theirs} == theirs


def test_facts_agree_with_the_gguf_package(tiny_any: Path):
    facts = read_facts(tiny_any)
    reader = gguf.GGUFReader(tiny_any)
    assert facts.n_parameters == sum(int(tensor.n_elements) for tensor in reader.tensors)
    assert facts.weights_bytes == sum(int(tensor.n_bytes) for tensor in reader.tensors)
    assert sum(share.n_tensors for share in facts.quantisation) == len(reader.tensors)
    assert facts.architecture == reader.fields["general.architecture"].contents()
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    assert facts.tokenizer.vocab_tokens == len(tokens)
    assert facts.chat_format == "chatml"


@pytest.mark.parametrize(
    ("kind", "memory_kind", "window_tokens"),
    [
        ("full", "full", None),
        ("sliding", "sliding window", SLIDING_WINDOW),
        ("recurrent", "recurrent", None),
        ("hybrid", "hybrid", None),
    ],
)
def test_the_memory_kind_of_each_tiny_model(
    tiny_models: dict[TinyKind, Path], kind: TinyKind, memory_kind: str, window_tokens: int | None
):
    facts = read_facts(tiny_models[kind])
    assert (facts.memory_kind, facts.sliding_window_tokens) == (memory_kind, window_tokens)
    assert facts.memory_decided_from


@pytest.mark.parametrize(
    ("arch", "keys", "kind"),
    [
        ("qwen2", {"attention__sliding_window": 64}, "full"),  # llama.cpp keeps all of it
        ("gemma2", {}, "sliding window"),
        ("gemma3", {}, "full"),
        ("gemma3", {"attention__sliding_window": 64, "block_count": 6}, "sliding window"),
        ("gemma2", {"attention__sliding_window": 0}, "full"),
        (
            "unheard-of",
            {"attention__sliding_window": 9, "attention__sliding_window_pattern": [True, False]},
            "sliding window",
        ),
        ("rwkv7", {"wkv__head_size": 4, "attention__head_count": 0}, "recurrent"),
        ("falcon-h1", {"ssm__state_size": 4, "ssm__inner_size": 4}, "hybrid"),
        ("granitehybrid", {"attention__head_count_kv": [0, 2], "ssm__state_size": 4}, "hybrid"),
        ("granitehybrid", {"attention__head_count_kv": [0, 0]}, "recurrent"),
        ("unheard-of", {"attention__head_count_kv": [0, 2], "ssm__state_size": 4}, "hybrid"),
        ("qwen3next", {"block_count": 4, "full_attention_interval": 2}, "hybrid"),
    ],
)
def test_the_memory_kind_is_decided_as_llama_cpp_does(tmp_path: Path, arch: str, keys, kind: str):
    assert read_facts(write_gguf(tmp_path / "x.gguf", arch, **keys)).memory_kind == kind


def cache_bytes(path: Path, context_tokens: int, kv_type: str = "f16") -> int:
    return estimate_memory(read_facts(path), context_tokens, kv_type).cache_bytes


def test_a_full_cache_is_two_vectors_for_each_cell_layer_and_head(tmp_path: Path):
    path = write_gguf(
        tmp_path / "x.gguf", attention__head_count_kv=1, attention__key_length=32,
        attention__value_length=64,
    )  # fmt: skip
    assert cache_bytes(path, 512) == 2 * 512 * (32 + 64) * 2
    assert cache_bytes(path, 300) == cache_bytes(path, 512)  # cells come in steps of 256
    assert cache_bytes(path, 512, "q8_0") == 2 * 512 * (34 + 2 * 34)


def test_head_counts_may_differ_by_layer(tmp_path: Path):
    path = write_gguf(
        tmp_path / "x.gguf", attention__head_count_kv=[1, 3], attention__key_length=8,
        attention__value_length=8,
    )  # fmt: skip
    assert cache_bytes(path, 256) == (1 + 3) * 256 * (8 + 8) * 2


def test_a_windowed_layer_keeps_its_window_and_a_batch(tmp_path: Path):
    path = write_gguf(
        tmp_path / "x.gguf", "gemma2", attention__sliding_window=1000, attention__key_length=8,
        attention__value_length=8,
    )  # fmt: skip
    row_bytes = 2 * (8 + 8) * 2  # heads, lengths, f16
    assert cache_bytes(path, 8192) == (8192 + 1536) * row_bytes
    assert cache_bytes(path, 512) == (512 + 512) * row_bytes


def test_a_recurrent_model_needs_the_same_at_any_context(tiny_recurrent: Path):
    facts = read_facts(tiny_recurrent)
    assert memory_bytes(facts, 256) == memory_bytes(facts, 100_000)
    one, eight = (estimate_memory(facts, 256, n_sequences=n).state_bytes for n in (1, 8))
    assert 0 < 8 * one == eight


@pytest.mark.parametrize(("context", "kv_type"), [(0, "f16"), (-1, "f16"), (256, "q3_k")])
def test_an_estimate_of_nonsense_is_refused(tiny_full: Path, context: int, kv_type: str):
    with pytest.raises(InputError):
        estimate_memory(read_facts(tiny_full), context, kv_type)


def test_every_cache_type_that_can_be_set_can_be_estimated(tiny_full: Path):
    facts = read_facts(tiny_full)
    f32 = memory_bytes(facts, 4096, "f32")
    assert all(memory_bytes(facts, 4096, kind) <= f32 for kind in CACHE_TYPES)


def test_show_speaks_to_people_and_to_machines(tiny_any: Path, capsys):
    assert show(str(tiny_any), context=1024) == 0
    text = capsys.readouterr().out
    assert "memory at 1024 tokens" in text
    assert "estimate" in text
    assert show(str(tiny_any), context=1024, json=True) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["memory"]["context_tokens"] == 1024
    assert content["memory"]["kind"] in text


def test_models_speaks_to_people_and_to_machines(capsys):
    assert models() == 0
    text = capsys.readouterr().out
    assert models(json=True) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["place"] for row in rows] == ["not here"] * 3
    assert all(row["name"] in text for row in rows)


def test_show_of_a_missing_model_says_what_fetches_it():
    with pytest.raises(ModelNotFound, match="`vedette pull smollm2-135m` fetches it"):
        show("smollm2-135m")


def test_what_a_file_says_of_itself_cannot_move_the_cursor(tmp_path: Path, capsys):
    path = write_gguf(tmp_path / "x.gguf", "evil\x1b[2J\nfile")
    show(str(path))
    assert "\x1b" not in (text := capsys.readouterr().out)
    assert "evil [2J file, 2 layers" in text
