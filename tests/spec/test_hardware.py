"""The hardware table: found by any spelling, described where it is not in it, never guessed."""

from __future__ import annotations

import pytest

from vedette.errors import InputError
from vedette.spec.hardware import (
    describe_gpu,
    find_cpu,
    find_gpu,
    gpu_names,
    gpu_within,
    parse_bytes,
)


@pytest.mark.parametrize(
    "name", ["RTX 3090", "rtx3090", "NVIDIA GeForce RTX 3090", "nvidia rtx-3090"]
)
def test_a_gpu_is_found_by_any_spelling(name: str):
    gpu = find_gpu(name)
    assert gpu is not None
    assert (gpu.name, gpu.bytes_per_s, gpu.memory_bytes) == ("RTX 3090", 936e9, 24 << 30)


def test_a_longer_name_is_not_taken_for_a_shorter_one():
    laptop = gpu_within("RTX 4060 Laptop 8GB, 20 target layers on GPU")
    assert laptop is not None
    assert laptop.name == "RTX 4060 Laptop"
    assert find_gpu("RTX 3090 Super Plus") is None


def test_names_and_spellings_are_each_of_one_gpu():
    assert len(set(gpu_names())) == len(gpu_names())
    assert all(find_gpu(name).name == name for name in gpu_names())  # type: ignore[union-attr]


def test_an_unknown_gpu_needs_memory_and_bandwidth():
    with pytest.raises(InputError, match="not in the hardware table") as caught:
        describe_gpu("RTX 3099")
    assert "did you mean RTX 3090?" in str(caught.value)
    gpu = describe_gpu("Voodoo 9", memory="24GB", bandwidth="936GB/s")
    assert (gpu.bytes_per_s, gpu.memory_bytes) == (936e9, 24 << 30)


def test_what_is_given_goes_before_the_table():
    gpu = describe_gpu("RTX 3090", memory="23.5 GiB", bandwidth="900 GB/s")
    assert (gpu.bytes_per_s, gpu.memory_bytes) == (900e9, int(23.5 * 2**30))


def test_a_cpu_is_found_within_a_longer_name():
    assert find_cpu("AMD Ryzen 7950X 16-Core").cores == 16
    with pytest.raises(InputError, match="--cpu-bandwidth"):
        find_cpu("Z80")


@pytest.mark.parametrize(("text", "n_bytes"), [("1.5GB", 15 * 10**8), ("2", 2 * 10**9)])
def test_a_size_in_decimal_units(text: str, n_bytes: int):
    assert parse_bytes(text, "--ram") == n_bytes


@pytest.mark.parametrize("text", ["", "x", "-1GB", "0GB", "1 potato", "nan"])
def test_what_is_no_size_is_refused(text: str):
    with pytest.raises(InputError, match="--ram"):
        parse_bytes(text, "--ram")
