"""Memory by part: caches by kind of layer, what `-ngl` moves, what a draft takes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from spec_models import OUTPUT_BYTES, draft, model

from vedette.errors import InputError
from vedette.models.layers import LayerMemory
from vedette.spec.layout import draft_parts, most_gpu_layers, target_parts
from vedette.spec.memory import Setup, cache_bytes, compute_bytes, output_bytes

FULL = LayerMemory(256, 256, windowed=False, state_bytes=0)


def test_cells_are_rounded_up_for_each_sequence():
    assert cache_bytes(FULL, Setup(context_tokens=1000), None) == 1024 * 512 * 2
    assert cache_bytes(FULL, Setup(context_tokens=1000, sequences=3), None) == 3 * 1024 * 512 * 2


def test_a_quantised_cache_has_its_blocks():
    q8 = Setup(context_tokens=1024, key_type="q8_0", value_type="q4_0")
    assert cache_bytes(FULL, q8, None) == 1024 * 256 * (34 + 18) // 32


def test_a_window_keeps_its_tokens_and_a_batch():
    layer = replace(FULL, windowed=True)
    setup = Setup(context_tokens=32_768, sequences=2, batch_tokens=512)
    assert cache_bytes(layer, setup, 1024) == 2 * (1024 + 512) * 512 * 2
    short = Setup(context_tokens=256)
    assert cache_bytes(layer, short, 1024) == cache_bytes(FULL, short, None)


def test_a_latent_cache_has_no_values_and_a_shared_one_nothing():
    latent = LayerMemory(576, 0, windowed=False, state_bytes=0)
    assert cache_bytes(latent, Setup(context_tokens=256), None) == 256 * 576 * 2
    assert cache_bytes(replace(latent, key_values=0), Setup(context_tokens=256), None) == 0


def test_a_state_is_kept_once_more_for_each_guess_that_may_be_undone():
    layer = LayerMemory(0, 0, windowed=False, state_bytes=1000)
    setup = Setup(context_tokens=4096, sequences=2, undo_tokens=3)
    assert cache_bytes(layer, setup, None) == 1000 * 2 * 4


# What llama.cpp says of its own compute buffer, MiB: width, feed-forward, heads, key values, cells.
@pytest.mark.parametrize(
    ("sizes", "flash_attention", "mib"),
    [
        ((576, 1536, 9, 192, 2048), False, 23.19),
        ((576, 1536, 9, 192, 8192), False, 83.19),
        ((576, 1536, 9, 192, 2048), True, 7.22),
        ((576, 1536, 9, 192, 8192), True, 10.22),
        ((1024, 4096, 16, 256, 2048), False, 39.5),
        ((1024, 4096, 16, 256, 8192), True, 19.04),
        ((2048, 1024, 16, 512, 8192), False, 147.0),
        ((2048, 1024, 16, 512, 8192), True, 14.08),
    ],
)
def test_compute_buffers_are_what_llama_cpp_allocates(sizes, flash_attention, mib):
    width, feed_forward, heads, key_values, cells = sizes
    small = replace(
        model(),
        embedding_length=width,
        feed_forward_length=feed_forward,
        n_heads=heads,
        memory=(LayerMemory(key_values, key_values, False, 0),),
        vocab_tokens=1000,
    )
    setup = Setup(context_tokens=cells, batch_tokens=256, flash_attention=flash_attention)
    assert compute_bytes(small, setup) / 2**20 == pytest.approx(mib, rel=0.01)


def test_sequences_share_the_compute_buffer():
    one, four = (Setup(context_tokens=4096, sequences=n) for n in (1, 4))
    assert compute_bytes(model(), one) == compute_bytes(model(), four)


def test_logits_can_be_the_largest_part():
    few, many = (Setup(context_tokens=256, outputs=n) for n in (1, 512))
    grown = compute_bytes(model(), many) - compute_bytes(model(), few)
    assert grown > 0.3 * 512 * 248_320 * 4
    assert output_bytes(model(), many) == 512 * 248_320 * 4


def test_layers_on_the_gpu_are_counted_as_ngl_does():
    target, setup = model(), Setup(context_tokens=4096)
    none, output_only, all_layers = (
        target_parts(target, setup, n, with_head=False) for n in (0, 1, 65)
    )
    assert sum(part.gpu_bytes for part in none) == 0
    assert output_only[0].gpu_bytes == OUTPUT_BYTES
    assert all_layers[0].host_bytes == target.embedding_bytes
    for parts in (none, output_only, all_layers):
        assert sum(parts[0].gpu_bytes for parts in [parts]) + parts[0].host_bytes == pytest.approx(
            target.weights_bytes
        )


def test_a_tied_output_is_a_second_copy_on_the_gpu_only():
    target, setup = model(tied=True), Setup(context_tokens=4096)
    on_cpu = target_parts(target, setup, 0, with_head=False)[0]
    on_gpu = target_parts(target, setup, 65, with_head=False)[0]
    assert on_cpu.host_bytes == target.weights_bytes
    assert on_gpu.gpu_bytes + on_gpu.host_bytes == target.weights_bytes + target.embedding_bytes


def test_as_many_layers_as_fit_and_not_one_more():
    target, setup = model(), Setup(context_tokens=4096)
    room = 8 << 30
    most = most_gpu_layers(target, setup, room, with_head=False)

    def taken(gpu_layers: int) -> int:
        parts = target_parts(target, setup, gpu_layers, with_head=False)
        return sum(part.gpu_bytes for part in parts)

    assert 0 < most < 65
    assert taken(most) <= room < taken(most + 1)
    assert most_gpu_layers(target, setup, 1 << 20, with_head=False) == 0


def test_the_head_takes_memory_only_where_it_is_used():
    target, setup = model(head_bytes=260_000_000), Setup(context_tokens=4096)
    without = target_parts(target, setup, 65, with_head=False)
    with_head = target_parts(target, setup, 65, with_head=True)
    assert [part.name for part in with_head][-1] == "prediction head"
    more = sum(p.gpu_bytes for p in with_head) - sum(p.gpu_bytes for p in without)
    assert more > 260_000_000


def test_a_draft_lies_on_one_side():
    setup = Setup(context_tokens=4096)
    gpu, host = (draft_parts(draft(), setup, on_gpu=on_gpu) for on_gpu in (True, False))
    assert sum(part.gpu_bytes for part in host) == 0
    assert sum(part.host_bytes for part in gpu) < sum(part.host_bytes for part in host)


@pytest.mark.parametrize(
    "changes", [{"context_tokens": 0}, {"sequences": 0}, {"key_type": "q9"}, {"outputs": 0}]
)
def test_settings_without_sense_are_refused(changes):
    with pytest.raises(InputError):
        Setup(**{"context_tokens": 256, **changes})
