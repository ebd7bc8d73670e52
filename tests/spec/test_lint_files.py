"""What the headers of GGUF files show: kinds of drafts, vocabularies, states, memory."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from gguf import GGUFWriter
from lint_support import NEW, codes

from tiny_gguf import build_tiny
from vedette.models.gguf_facts import read_facts
from vedette.models.gguf_header import LongList, read_header
from vedette.spec.lint import lint_command
from vedette.spec.lint.draft_files import TOKENS_KEY
from vedette.spec.lint.vocabulary import vocabulary_problem

TOKENS = [f"t{i}" for i in range(300)]


def with_vocabulary(path: Path, tokens: list[str], **keys) -> Path:
    """A GGUF that is nothing but a tokenizer of `arch` (llama unless it is given)."""
    writer = GGUFWriter(path, keys.pop("arch", "llama"))
    writer.add_tokenizer_model(keys.pop("model", "gpt2"))
    writer.add_token_list(tokens)
    for name, value in keys.items():
        if isinstance(value, bool):
            writer.add_bool(f"tokenizer.ggml.{name}", value)
        else:
            writer.add_uint32(f"tokenizer.ggml.{name}", value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture
def problem(tmp_path):
    """The problem of a draft with other tokens or keys, for a type."""

    def found(tokens=TOKENS, kind="draft-simple", **keys) -> str | None:
        target = with_vocabulary(
            tmp_path / "t.gguf", TOKENS, bos_token_id=1, eos_token_id=2, add_bos_token=True
        )
        draft_keys = {"bos_token_id": 1, "eos_token_id": 2, "add_bos_token": True, **keys}
        draft = with_vocabulary(
            tmp_path / f"d{len(list(tmp_path.iterdir()))}.gguf", tokens, **draft_keys
        )
        return vocabulary_problem(kind, read_facts(target), read_facts(draft))

    return found


def test_the_same_vocabulary_fits(problem):
    assert problem() is None


def test_the_first_five_ids_may_differ_and_the_sixth_may_not(problem):
    assert problem(["x"] * 5 + TOKENS[5:]) is None
    assert "token 5 is 't5' in the target and 'x' in the draft" in problem(
        [*TOKENS[:5], "x", *TOKENS[6:]]
    )


def test_sizes_may_be_128_apart_and_no_more(problem):
    assert problem([*TOKENS, *(f"u{i}" for i in range(128))]) is None
    assert "more than 128 apart" in problem([*TOKENS, *(f"u{i}" for i in range(129))])


def test_kind_beginning_and_end_must_agree(problem):
    assert "kind" in problem(model="llama")
    assert "BOS token" in problem(add_bos_token=False)
    assert "BOS tokens are 1 and 3" in problem(bos_token_id=3)
    assert problem(eos_token_id=7) is None  # neither adds it


def test_a_head_needs_as_many_tokens_as_the_target_and_dflash_has_no_rule(problem):
    assert problem(TOKENS[:200], kind="draft-dflash") is None
    assert problem([*TOKENS, "more"], kind="draft-eagle3", model="llama") is None
    assert "200 tokens" in problem(TOKENS[:200], kind="draft-mtp")


def test_long_token_lists_are_kept_only_where_they_are_asked_for(tmp_path):
    path = with_vocabulary(tmp_path / "long.gguf", [f"t{i}" for i in range(5000)])
    assert read_header(path).metadata[TOKENS_KEY] == LongList(5000)
    kept = read_header(path, keep=frozenset((TOKENS_KEY,))).metadata[TOKENS_KEY]
    assert kept == tuple(f"t{i}" for i in range(5000))


@pytest.mark.parametrize(
    ("architecture", "kind"),
    [("eagle3", "draft-eagle3"), ("gemma4-assistant", "draft-mtp"), ("dflash", "draft-dflash"),
     ("qwen3", "draft-simple")],
)  # fmt: skip
def test_the_type_is_that_of_the_draft_files_architecture(tmp_path, architecture, kind):
    draft = with_vocabulary(tmp_path / "d.gguf", TOKENS, arch=architecture)
    mended = lint_command(f"llama-server -m none.gguf -md {draft} --draft-p-min 0.1", NEW)
    assert f"-md {draft} --spec-type {kind}" in mended.text


def test_a_pair_of_one_family_has_no_finding(tiny_full, tmp_path):
    draft = build_tiny("full", tmp_path / "d.gguf", seed=1)
    command = f"llama-server -m {tiny_full} -md {draft} --spec-type draft-simple -c 512"
    assert lint_command(command, NEW).findings == ()


def test_vocabularies_that_differ_are_told(tiny_full, tmp_path):
    draft = build_tiny("full", tmp_path / "d.gguf", n_vocab=2000)
    command = f"llama-server -m {tiny_full} -md {draft} --spec-type draft-simple -c 512"
    mended = lint_command(command, NEW)
    assert (mended.text, codes(mended)) == (command, ["vocabulary"])


def test_a_recurrent_state_is_told(tiny_hybrid, tiny_full):
    mended = lint_command(f"llama-server -m {tiny_hybrid} --spec-type ngram-mod -c 512", NEW)
    assert codes(mended) == ["recurrent-state"]
    assert lint_command(f"llama-server -m {tiny_hybrid} -c 512", NEW).findings == ()
    assert lint_command(f"llama-server -m {tiny_full} --spec-default -c 512", NEW).findings == ()


def test_mtp_without_a_head_is_told(tiny_full):
    mended = lint_command(f"llama-server -m {tiny_full} --spec-type draft-mtp -c 512", NEW)
    assert codes(mended) == ["no-mtp-head"]


def test_memory_that_is_not_there_is_told(tiny_full, monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=1 << 20))
    command = f"llama-server -m {tiny_full} --spec-type ngram-mod -c 65536"
    assert codes(lint_command(command, NEW)) == ["memory"]
    assert lint_command(f"{command} -ngl 99", NEW).findings == ()  # of a GPU nothing is known


def test_a_damaged_file_is_told(tmp_path):
    damaged = tmp_path / "x.gguf"
    damaged.write_bytes(b"GGUF" + bytes(40))
    assert codes(lint_command(f"llama-server -m {damaged} --spec-default", NEW)) == ["bad-file"]
