"""The places of a task's own texts: asked once, kept on disk, the same ever after."""

from __future__ import annotations

import json

import numpy as np
import pytest

from vedette.backends.local import LocalBackend
from vedette.batch import Job, Source, answers, run
from vedette.engine.options import EngineOptions
from vedette.errors import InputTooLong
from vedette.tasks.label_prompt import LabelledText
from vedette.tasks.labels import Label
from vedette.tasks.nearest.task import Nearest
from vedette.types import Answer, Item

LABELS = tuple(Label(name) for name in ("good", "bad"))
EXAMPLES = tuple(
    LabelledText(text, (label,)) for text, label in (("fine", "good"), ("poor", "bad"))
)


@pytest.fixture
def backend(tiny_full, tmp_path, monkeypatch):
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))
    backend = LocalBackend(tiny_full, EngineOptions(width=4, threads=1, cells=512))
    yield backend
    backend.close()


def task(*more: LabelledText) -> Nearest:
    return Nearest(LABELS, (*EXAMPLES, *more))


def values(backend, job: Nearest) -> list:
    found = list(answers([Item(id="1", text="all is well")], job, backend))
    return [outcome.value for _, outcome in found if isinstance(outcome, Answer)]


def test_they_are_asked_for_once_and_answer_the_same_from_disk(backend, tmp_path):
    first = values(backend, task())
    asked = backend.stats.requests
    assert asked == len(task().texts) + 1
    assert values(backend, task()) == first
    assert backend.stats.requests == asked + 1
    (kept,) = (tmp_path / "home" / "places").iterdir()
    assert np.load(kept).shape[0] == len(task().texts)


def test_other_texts_have_places_of_their_own(backend, tmp_path):
    values(backend, task())
    values(backend, task(LabelledText("so so", ("bad",))))
    assert len(list((tmp_path / "home" / "places").iterdir())) == 2


@pytest.mark.parametrize("damage", [b"", b"\x93NUMPY torn", None])
def test_a_damaged_or_foreign_file_is_made_anew(backend, tmp_path, damage):
    first = values(backend, task())
    (kept,) = (tmp_path / "home" / "places").iterdir()
    if damage is None:
        np.save(kept.with_suffix(""), np.zeros((3, 3)))
    else:
        kept.write_bytes(damage)
    assert values(backend, task()) == first


def test_a_job_counts_them_and_can_be_resumed(backend, tmp_path):
    source = tmp_path / "in.txt"
    source.write_text("all is well\nall is lost\n")
    job = Job(
        source=Source(paths=(str(source),)),
        task=task(),
        backend=backend,
        out=str(tmp_path / "out.jsonl"),
    )
    summary = run(job)
    assert summary.ok == 2
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    own = sum(line["usage"]["prompt_tokens"] for line in lines)
    assert summary.usage.prompt_tokens > own
    assert run(job).asked == 0


def test_a_text_that_cannot_be_placed_ends_the_job_before_it_answers(backend):
    too_long = task(LabelledText("word " * 60_000, ("good",)))
    with pytest.raises(InputTooLong):
        list(answers([Item(id="1", text="all is well")], too_long, backend))
