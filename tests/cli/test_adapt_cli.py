"""`vedette adapt` up to the training: what is refused, and how the verdict ends the command."""

from __future__ import annotations

import json

import numpy as np
import pytest

from vedette.adapt import run as adapt_run
from vedette.adapt import trainer
from vedette.adapt.trainer import Epoch, Trained
from vedette.cli.main import run


@pytest.fixture
def desk(tmp_path, tiny_full, capfd, monkeypatch):
    for name, value in {"OFFLINE": "1", "THREADS": "1", "CONTEXT_TOKENS": "2048"}.items():
        monkeypatch.setenv(f"VEDETTE_{name}", value)
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("VEDETTE_MODEL", str(tiny_full))
    monkeypatch.setattr(adapt_run, "check_extra", lambda: None)
    monkeypatch.chdir(tmp_path)
    rows = [
        {"text": f"row {i}", "label": "ab"[i % 2], "ok": i % 3 == 0, "value": {"n": i}}
        for i in range(40)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def call(*tokens: str) -> tuple[int, str, str]:
        code = run(tokens)
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


OUT = ("rows.jsonl", "--out", "x.gguf")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--backend", "openai:http://127.0.0.1:9/v1#m"), "adapt trains a model of this machine"),
        (("--lora", "x=x.gguf"), "adapt trains the plain model"),
        (("--method", "nearest"), "there is nothing to train"),
        (("--epochs", "0"), "epochs must be over 0"),
        (("--hold-back", "1.5"), "hold-back is 1.5"),
        (("--limit", "12"), "there are 12 different texts"),
    ],
)
def test_what_cannot_be_trained_ends_the_command(desk, options, words):
    code, _, err = desk("adapt", "classify", *OUT, *options)
    assert (code, words in err) == (2, True), err


def test_a_file_that_cannot_be_written_is_told_first(desk):
    code, _, err = desk("adapt", "classify", "rows.jsonl", "--out", ".")
    assert (code, "cannot write .: it is no file" in err) == (2, True)


def test_without_the_extra_one_sentence_says_so(desk, monkeypatch):
    monkeypatch.setattr(adapt_run, "check_extra", trainer.check_extra)
    monkeypatch.setattr(trainer, "find_spec", lambda name: None)
    code, out, err = desk("adapt", "classify", *OUT)
    assert (code, out) == (2, "")
    assert err == (
        "vedette: training needs torch, which is not installed. "
        "install it with: pip install 'vedette[train]'.\n"
    )


FACTORS = {"model.layers.0.mlp.up_proj": (np.zeros((2, 64)), np.zeros((128, 2)))}


def untaught(gguf, training, validation, options, folder, tell) -> Trained:
    """A training of which nothing comes."""
    epochs = (Epoch(number=0, training_loss=None, validation_loss=1.0),)
    return Trained(factors=FACTORS, epochs=epochs, best_epoch=0, is_cut=True, n_values=1)


@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("classify", ()),
        ("decide", ("--ask", "ok=Good?")),
        ("extract", ("--fields", "n:int")),
    ],
)
def test_an_adapter_that_is_not_better_is_exit_1_and_no_file(
    desk, monkeypatch, tmp_path, task, options
):
    monkeypatch.setattr(adapt_run, "train", untaught)
    code, out, err = desk("adapt", task, *OUT, *options, "--max-minutes", "7")
    assert code == 1
    assert "before" in out
    assert "stopped after 7 minutes, before the epochs were over" in err
    assert err.endswith(
        "the adapter is not better than the plain model, so x.gguf is not written.\n"
    )
    assert list(tmp_path.glob("*.gguf*")) == []
    code, out, _ = desk("adapt", task, *OUT, *options, "--json", "--quiet")
    body = json.loads(out)
    assert (code, body["task"], body["kept"], body["rows"]["held_back"]) == (1, task, False, 8)
