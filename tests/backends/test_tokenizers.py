"""Counting tokens by a vocabulary alone."""

from __future__ import annotations

import json

import pytest

from vedette.backends.local import LocalBackend
from vedette.backends.tokenizers import open_tokenizer
from vedette.errors import FileError, ModelCorrupt, ModelNotFound

TEXTS = ["", "a", "Hello world, 2024年 <|im_end|>", "word " * 5000]
WORD_LEVEL = {
    "version": "1.0",
    "truncation": {
        "direction": "Right",
        "max_length": 2,
        "strategy": "LongestFirst",
        "stride": 0,
    },
    "padding": None,
    "added_tokens": [],
    "normalizer": None,
    "pre_tokenizer": {"type": "Whitespace"},
    "post_processor": None,
    "decoder": None,
    "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "a": 1}, "unk_token": "[UNK]"},
}


def test_a_vocabulary_counts_as_its_model_does(tiny_full):
    backend = LocalBackend(tiny_full)
    try:
        counter = open_tokenizer(str(tiny_full))
        assert [*map(counter.count_tokens, TEXTS)] == [*map(backend.count_tokens, TEXTS)]
        assert counter.identity["model_sha256"] == backend.sha256
    finally:
        backend.close()


def test_a_tokenizer_file_counts_whole_texts_though_it_says_that_they_are_to_be_cut(tmp_path):
    pytest.importorskip("tokenizers")
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(WORD_LEVEL), "utf-8")
    counter = open_tokenizer(str(path))
    assert counter.count_tokens("a b c d") == 4
    assert counter.count_tokens("") == 0
    path.write_text("{}", "utf-8")
    with pytest.raises(FileError, match="no tokenizer file"):
        open_tokenizer(str(path))


def test_what_is_no_tokenizer_is_refused(tmp_path):
    with pytest.raises(FileError):
        open_tokenizer(str(tmp_path / "none.json"))
    with pytest.raises(ModelNotFound):
        open_tokenizer("no-such-model")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ModelCorrupt):
        open_tokenizer(str(broken))
