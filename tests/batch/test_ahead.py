"""Rows with a common beginning are asked together; lines and resuming stay as they are."""

from __future__ import annotations

import json
import os
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.batch import Job, Source, run, runner
from vedette.batch import ahead as ahead_module
from vedette.batch.ahead import SAME_CHARACTERS, Ahead
from vedette.types import Item

from .fakes import FakeBackend, ShoutTask


def document(number: int) -> str:
    return f"document {number} " * 10


def filled(texts: list[str], n_rows: int = 1000) -> Ahead:
    ahead = Ahead(n_rows)
    for number, text in enumerate(texts):
        ahead.add(b"%d" % number, Item(id=str(number), text=text))
    return ahead


def taken(ahead: Ahead) -> list[str]:
    texts = []
    while ahead:
        texts.append(ahead.take()[1].text)
    return texts


def test_shared_beginnings_are_neighbours_in_the_order_of_their_first_rows() -> None:
    rows = [document(2) + "b", "short", document(1) + "x", document(2) + "a", document(1) + "y"]
    assert taken(filled(rows)) == [rows[3], rows[0], "short", rows[2], rows[4]]


@given(st.lists(st.text(max_size=SAME_CHARACTERS - 1)))
def test_without_a_common_beginning_the_order_is_that_of_the_input(texts: list[str]) -> None:
    assert taken(filled(texts)) == texts


@given(st.lists(st.tuples(st.integers(0, 3), st.text(max_size=3)), max_size=30))
def test_every_row_is_taken_once(parts: list[tuple[int, str]]) -> None:
    texts = [document(number) + question for number, question in parts]
    got = taken(filled(texts))
    assert sorted(got) == sorted(texts)
    firsts = [text[:SAME_CHARACTERS] for text in got]
    assert len(set(firsts)) == sum(a != b for a, b in zip(firsts, ["", *firsts], strict=False))


def test_a_round_is_bounded_in_rows_and_text(monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = Ahead(2)
    assert ahead.wants_more
    ahead.add(b"1", Item(id="1", text="a"))
    assert ahead.wants_more
    ahead.add(b"2", Item(id="2", text="b"))
    assert not ahead.wants_more
    ahead.take()
    assert not ahead.wants_more  # the round is not over
    assert b"1" not in ahead
    assert b"2" in ahead
    ahead.take()
    assert ahead.wants_more
    monkeypatch.setattr(ahead_module, "CHARACTERS", 10)
    ahead.add(b"3", Item(id="3", text="c" * 10))
    assert not ahead.wants_more
    ahead.take()
    assert ahead.wants_more


class OneByOne:
    """A job of documents and questions, shuffled, one row at a time."""

    def __init__(self, folder) -> None:
        self.rows = [f"{document(d)} question {q}" for d in range(6) for q in range(4)]
        random.Random(1).shuffle(self.rows)
        self.rows[5:5] = ["short", self.rows[0], "short"]
        self.input, self.out = str(folder / "in.txt"), str(folder / "out.jsonl")
        with open(self.input, "w") as file:
            file.writelines(row + "\n" for row in self.rows)
        self.backend = FakeBackend(delay_ms=0.2)

    def run(self, **options):
        source = Source(paths=(self.input,))
        job = Job(source=source, task=ShoutTask(), backend=self.backend, out=self.out, workers=1)
        return run(job, **options)

    def asked(self) -> list[str]:
        submitted, self.backend.submitted = self.backend.submitted, []
        return [text.split(" question")[0] for text in submitted]

    def check_lines(self) -> None:
        with open(self.out) as file:
            lines = [json.loads(line) for line in file]
        assert [line["id"] for line in lines] == [str(n + 1) for n in range(len(self.rows))]
        assert [line["value"]["shouted"] for line in lines] == [row.upper() for row in self.rows]


@pytest.fixture
def job(tmp_path, monkeypatch: pytest.MonkeyPatch) -> OneByOne:
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    return OneByOne(tmp_path)


def n_changes(asked: list[str]) -> int:
    return sum(a != b for a, b in pairwise(asked))


def test_a_job_asks_document_by_document_and_writes_in_input_order(job: OneByOne) -> None:
    summary = job.run()
    asked = job.asked()
    assert n_changes(asked) == 6  # six documents and the short text
    assert asked[0] == job.rows[0].split(" question")[0]
    assert (summary.items, summary.asked, summary.duplicates) == (27, 25, 2)
    job.check_lines()


def test_an_interrupted_job_goes_on_without_asking_anything_again(
    job: OneByOne, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_until_stop = 10
    job.backend.on_submit = lambda: (
        os.kill(os.getpid(), 2) if len(job.backend.submitted) == asked_until_stop else None
    )
    first = job.run()
    assert first.interrupted
    before = job.backend.submitted
    job.backend.submitted = []
    assert first.asked <= asked_until_stop
    job.backend.on_submit = lambda: None
    second = job.run()
    assert not second.interrupted
    again = set(before) & set(job.backend.submitted)
    assert len(again) <= 1  # the one that was under way
    assert second.done_again == len(again)
    job.check_lines()
    assert job.run().nothing_to_do


def test_rounds_smaller_than_the_job_still_give_every_line(
    job: OneByOne, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "Ahead", lambda n_rows=7: Ahead(n_rows))
    job.run()
    assert n_changes(job.asked()) > 6
    job.check_lines()
