"""The registry is data that people edit: every slip is named with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from vedette.errors import FileError
from vedette.models.registry import HubFile, Packages, load_registry, registry

GOOD = """
[tiny]
size_bytes = 30
sha256 = "{hash}"
licence = "MIT"
architecture = "llama"
chat_format = "chatml"
[[tiny.sources]]
kind = "hub"
repo = "a/b"
file = "c.gguf"
[[tiny.sources]]
kind = "packages"
parts = [
  {{ distribution = "p1", version = "1.0", size_bytes = 10, member = "p1/x" }},
  {{ distribution = "p2", version = "1.0", size_bytes = 20, member = "p2/x" }},
]
""".format(hash="a" * 64)


def load(tmp_path: Path, text: str):
    path = tmp_path / "registry.toml"
    path.write_text(text)
    return load_registry(path)


def test_a_good_entry_is_read_with_its_sources_in_order(tmp_path: Path):
    model = load(tmp_path, GOOD)["tiny"]
    assert (model.name, model.size_bytes) == ("tiny", 30)
    first, second = model.sources
    assert first == HubFile(repo="a/b", file="c.gguf")
    assert isinstance(second, Packages)
    assert [part.distribution for part in second.parts] == ["p1", "p2"]


@pytest.mark.parametrize(
    ("good", "bad", "said"),
    [
        ("size_bytes = 30", "size_bytes = 31", "its parts have 30 bytes, the file 31"),
        ("size_bytes = 30", "size_bytes = -1", "wrong at tiny.size_bytes"),
        ("a" * 64, "a" * 63, "wrong at tiny.sha256"),
        ('licence = "MIT"', "", "wrong at tiny.licence: Field required"),
        ('licence = "MIT"', 'licence = "MIT"\nlisense = "x"', "wrong at tiny.lisense"),
        ('kind = "hub"', 'kind = "ftp"', "wrong at tiny.sources.0"),
        ('repo = "a/b"', 'repo = "../b/c"', "wrong at tiny.sources.0.hub.repo"),
        ('distribution = "p1"', 'distribution = "--index-url"', "distribution"),
        ("[tiny]", "[tiny", "is not TOML"),
        ("[tiny]", "['Ti ny']", "wrong at Ti ny"),
    ],
)
def test_a_slip_is_named_with_its_place(tmp_path: Path, good: str, bad: str, said: str):
    text = GOOD.replace(good, bad, 1)
    if good == "[tiny]" and bad == "['Ti ny']":
        text = text.replace("[[tiny.", "[['Ti ny'.")
    with pytest.raises(FileError) as raised:
        load(tmp_path, text)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_registry_that_is_not_there_is_a_file_error(tmp_path: Path):
    with pytest.raises(FileError, match="cannot read the model registry"):
        load_registry(tmp_path / "none.toml")


def test_the_models_that_we_ship_names_for_are_complete():
    assert list(registry()) == ["smollm2-135m", "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"]
    for model in registry().values():
        assert any(isinstance(source, Packages) for source in model.sources)
        assert (model.licence, model.chat_format) == ("Apache-2.0", "chatml")


def test_the_order_of_parts_is_the_order_of_their_numbers():
    for model in registry().values():
        for source in model.sources:
            if isinstance(source, Packages) and len(source.parts) > 1:
                numbers = [int(part.distribution.rpartition("part")[2]) for part in source.parts]
                assert numbers == list(range(1, len(source.parts) + 1))
