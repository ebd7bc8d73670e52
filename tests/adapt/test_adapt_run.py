"""The whole way with a training that is played: what is kept, and what is not."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np
import pytest

from vedette.adapt import run
from vedette.adapt.run import adapt, report_path
from vedette.adapt.subjects import Labelled, Marks
from vedette.adapt.trainer import Epoch, Options, Trained
from vedette.backends.local import LocalBackend
from vedette.engine.options import EngineOptions
from vedette.errors import EngineFailed, InputError
from vedette.models.adapter_file import check_base, read_adapter
from vedette.models.fingerprint import file_sha256
from vedette.models.gguf_header import read_header
from vedette.tasks.classify import Classify
from vedette.tasks.labels import Label
from vedette.types import Item

SHAPES = {  # of the tiny model: (rows, columns)
    "self_attn.q_proj": (64, 64),
    "self_attn.k_proj": (32, 64),
    "self_attn.v_proj": (32, 64),
    "self_attn.o_proj": (64, 64),
    "mlp.gate_proj": (128, 64),
    "mlp.up_proj": (128, 64),
    "mlp.down_proj": (64, 128),
}


@dataclass(frozen=True)
class Played(Labelled):
    """Real lessons; marks as the test wants them, and what was asked for them."""

    after: tuple[bool, ...] = ()
    asked: list[tuple[bool, str, tuple[int, ...]]] = field(default_factory=list)

    def marks(self, numbers, backend, *, is_adapted, tell):
        self.asked.append((is_adapted, backend.name, tuple(numbers)))
        right = self.after if is_adapted else (True, *[False] * (len(numbers) - 1))
        return Marks(right, 0)


def played(*after: bool) -> Played:
    items = [Item(id=f"r{i}", text=f"text number {i}") for i in range(30)]
    right = [("positive", "negative")[i % 2] for i in range(30)]
    task = Classify(labels=(Label("negative"), Label("positive")))
    return Played(task=task, items=items, right=right, after=after)


def trained(best_epoch: int = 1, rank: int = 4) -> Trained:
    random = np.random.default_rng(0)
    factors = {
        f"model.layers.{layer}.{name}": (
            random.normal(size=(rank, columns)).astype(np.float32),
            random.normal(size=(rows, rank)).astype(np.float32),
        )
        for layer in range(2)
        for name, (rows, columns) in SHAPES.items()
    }
    epochs = (
        Epoch(number=0, training_loss=None, validation_loss=2.0),
        Epoch(number=1, training_loss=1.5, validation_loss=1.0),
    )
    return Trained(factors=factors, epochs=epochs, best_epoch=best_epoch, is_cut=False, n_values=9)


@pytest.fixture
def go(tiny_full, tmp_path, monkeypatch):
    """Runs `adapt` with a played training; what it was given is in `go.given`."""
    monkeypatch.setattr(run, "check_extra", lambda: None)
    data = tmp_path / "rows.jsonl"
    data.write_text("rows\n")
    told: list[str] = []
    given: dict[str, object] = {}

    def opened():
        options = EngineOptions(cells=512, max_context_tokens=1024, threads=1)
        return LocalBackend(tiny_full, options)

    def call(subject, outcome, **options):
        def train(gguf, training, validation, options, folder, tell):
            given.update(gguf=gguf, training=training, validation=validation)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        monkeypatch.setattr(run, "train", train)
        out = tmp_path / "out.gguf"
        asked = Options(rank=4, **options)
        return adapt(subject, str(tiny_full), data, out, opened, asked, tell=told.append)

    call.told, call.given, call.folder = told, given, tmp_path
    return call


def test_a_better_adapter_is_written_with_its_report(go, tiny_full):
    subject = played(*[True] * 6)
    report = go(subject, trained())
    out = go.folder / "out.gguf"
    assert report.is_kept
    assert sorted(path.name for path in go.folder.iterdir()) == [
        "out.gguf",
        "out.gguf.json",
        "rows.jsonl",
    ]
    adapter = read_adapter(out)
    check_base(adapter, read_header(tiny_full), "tiny")
    assert (adapter.alpha, adapter.rank, adapter.task_name) == (8.0, 4, "classify")
    assert len(adapter.pairs) == 14
    metadata = read_header(out).metadata
    assert metadata["general.name"] == "out"
    assert metadata["general.base_model.0.name"] == str(tiny_full)
    body = json.loads(report_path(out).read_text())
    assert body["adapter_sha256"] == file_sha256(out)
    assert body["rows"] == {"training": 21, "validation": 3, "held_back": 6, "left_out": []}
    assert (body["verdict"]["gained"], body["verdict"]["lost"], body["kept"]) == (5, 0, True)
    assert body["asked"]["labels"] == [["negative", ""], ["positive", ""]]


def test_before_is_the_plain_model_and_after_the_adapted_on_the_same_rows(go, tiny_full):
    subject = played(*[True] * 6)
    go(subject, trained())
    (first, plain, rows), (second, adapted, same_rows) = subject.asked
    assert (first, second) == (False, True)
    assert plain == str(tiny_full)
    assert adapted == f"{tiny_full} + adapted (1)"
    assert rows == same_rows
    learnt = {lesson.row for lesson in (*go.given["training"], *go.given["validation"])}
    assert len(learnt) == 24
    assert not learnt & {subject.items[number].id for number in rows}


@pytest.mark.parametrize(
    ("after", "best_epoch"), [((True, *[False] * 5), 1), ([False] * 6, 1), ([True] * 6, 0)]
)
def test_what_is_not_better_leaves_no_file(go, after, best_epoch):
    report = go(played(*after), trained(best_epoch))
    assert not report.is_kept
    assert report.as_dict()["adapter"] is None
    assert [path.name for path in go.folder.iterdir()] == ["rows.jsonl"]


def test_an_earlier_adapter_stays_if_the_new_one_is_not_better(go):
    (go.folder / "out.gguf").write_text("earlier")
    go(played(*[False] * 6), trained())
    assert (go.folder / "out.gguf").read_text() == "earlier"


def test_a_training_that_fails_leaves_no_file(go):
    with pytest.raises(EngineFailed, match="no memory"):
        go(played(*[True] * 6), EngineFailed("no memory"))
    assert [path.name for path in go.folder.iterdir()] == ["rows.jsonl"]


def test_rows_that_are_left_out_are_told(go):
    with pytest.raises(InputError, match="no row is left for training; row r"):
        go(played(), trained(), length_tokens=20)
    report = go(played(*[True] * 6), trained(), length_tokens=200)
    assert report.left_out == ()
    assert any("21 rows to train" in line for line in go.told)
    assert "epoch 1 is the best by its validation loss" in go.told
