"""A job that is ended within a long row goes on there."""

from __future__ import annotations

import os

import pytest

from vedette.backends.base import Backend
from vedette.batch.runner import Job, run
from vedette.batch.source import Source
from vedette.tasks.summarise.task import Summarise
from vedette.types import Capabilities, Completion, Json, Usage

TEXT = " ".join(f"The harbour has boats, and Ann counts boat {i} today." for i in range(400))


class Writer:
    """Says one sentence to every question; fails for good after so many."""

    name = "writer"
    width = 2
    capabilities = Capabilities(context_tokens=4096)
    identity: dict[str, Json] = {"model": "writer"}  # noqa: RUF012
    counts: dict[str, int] = {}  # noqa: RUF012

    def __init__(self, n_answers: int) -> None:
        self.left = n_answers
        self.asked: list[str] = []

    def count_tokens(self, text):
        return len(text.split())

    def submit(self, request):
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        self.asked.append(request.prompt.messages[-1].content)
        return Done()

    def close(self):
        pass


class Done:
    def result(self, timeout_s=None):
        text = "Ann counts the boats of the harbour."
        return Completion(text=text, finish_reason="stop", usage=Usage(prompt_tokens=7))

    def on_done(self, callback):
        callback()

    def cancel(self):
        pass


def job(tmp_path, backend: Backend, name="out.jsonl"):
    (tmp_path / "in.jsonl").write_text(f'{{"text": "{TEXT}"}}\n', "utf-8")
    source = Source(paths=(str(tmp_path / "in.jsonl"),))
    task = Summarise(words=20, chunk_tokens=150)
    return Job(source=source, task=task, backend=backend, out=str(tmp_path / name), workers=1)


def test_no_part_is_asked_about_twice_and_the_result_is_the_same(tmp_path):
    whole = Writer(10**6)
    run(job(tmp_path, whole, "whole.jsonl"))
    n_asked = len(whole.asked)
    assert n_asked > 30

    first = Writer(20)
    with pytest.raises(KeyboardInterrupt):
        run(job(tmp_path, first))
    parts = f"{tmp_path}/out.jsonl.journal.parts"
    assert os.path.exists(parts)

    second = Writer(10**6)
    summary = run(job(tmp_path, second))
    assert summary.ok == 1
    # A wave's results are written down when they are taken: what was taken is not asked again.
    assert len(second.asked) <= n_asked - 16
    assert not set(first.asked[:16]) & set(second.asked)
    assert not os.path.exists(parts)
    texts = [(tmp_path / name).read_text("utf-8") for name in ("whole.jsonl", "out.jsonl")]
    assert texts[0] == texts[1]


def test_a_job_without_a_file_keeps_nothing(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(
        job(tmp_path, Writer(10**6), "x").__class__(
            source=Source(paths=(str(tmp_path / "in.jsonl"),)),
            task=Summarise(words=20, chunk_tokens=150),
            backend=Writer(10**6),
        )
    )
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]
    assert "boats" in capfd.readouterr().out
