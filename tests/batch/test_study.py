"""What a task learns from the first rows of a job: asked once, kept in the journal."""

from __future__ import annotations

import json

import pytest

from vedette.batch import Job, Source, answers, run
from vedette.types import Answer, Item

from .fakes import FakeBackend, ShoutTask


class RankTask(ShoutTask):
    """Knows the longest text of the first three, and says it with each answer."""

    def study_rows(self, backend):
        return 3

    least_study_rows = 2

    def __init__(self, longest: str | None = None, known: dict[str, Answer] | None = None) -> None:
        super().__init__()
        self.longest = longest
        self.known = known or {}

    def study_task(self):
        return ShoutTask()

    def learnt(self, answers):
        return max((answer.value["shouted"] for answer in answers), key=len)

    def told(self, finding):
        return f"the longest is {finding}"

    def knowing(self, finding, answers):
        return RankTask(finding, dict(answers))

    def steps(self, item, backend):
        answer = self.known.pop(item.text, None) or (yield from super().steps(item, backend))
        return Answer(value={**answer.value, "longest": self.longest}, usage=answer.usage)


@pytest.fixture
def job(tmp_path):
    """A job over texts."""
    backend = FakeBackend(delay_ms=0.2)

    def made(texts, **options):
        (tmp_path / "in.log").write_text("".join(text + "\n" for text in texts))
        source = Source(paths=(str(tmp_path / "in.log"),))
        out = str(tmp_path / "out.jsonl")
        return Job(source=source, task=RankTask(), backend=backend, out=out, **options)

    made.backend = backend
    made.values = lambda: [
        json.loads(line).get("value") for line in (tmp_path / "out.jsonl").read_text().splitlines()
    ]
    return made


def test_the_first_different_texts_are_looked_at_and_nothing_is_asked_twice(job):
    texts = ["a", "", "a", "refuse", "ccc", "dddd", "a"]
    summary = run(job(texts))
    assert [value and value["longest"] for value in job.values()] == [
        "CCC", "CCC", "CCC", None, "CCC", "CCC", "CCC"
    ]  # fmt: skip
    assert sorted(job.backend.submitted) == ["a", "ccc", "dddd"]
    assert summary.notes == ("the longest is CCC",)
    assert summary.usage.prompt_tokens == 33


def test_a_resumed_job_knows_what_the_first_run_had_learnt(job):
    run(job(["a", "bb", "ccc"]))
    job.backend.submitted.clear()
    summary = run(job(["longer than all", "a", "bb", "ccc"]))
    assert {value["longest"] for value in job.values()} == {"CCC"}
    assert job.backend.submitted == ["longer than all"]
    assert "the longest is CCC" in summary.notes


def test_too_few_texts_teach_nothing(job):
    summary = run(job(["a", "a", ""]))
    assert {value["longest"] for value in job.values()} == {None}
    assert summary.notes == ()


def test_a_signal_during_the_study_ends_the_job_without_a_finding(job):
    asked = job(["a", "bb", "ccc"])

    def interrupt():
        job.backend.on_submit = lambda: None
        import signal

        signal.raise_signal(signal.SIGINT)

    job.backend.on_submit = interrupt
    summary = run(asked)
    assert summary.interrupted
    assert summary.items == 0
    assert run(job(["a", "bb", "ccc"])).items == 3
    assert {value["longest"] for value in job.values()} == {"CCC"}


def test_items_in_memory_are_looked_at_too():
    backend = FakeBackend(delay_ms=0.2)
    items = (Item(id=str(n), text="x" * n) for n in range(6))
    found = list(answers(items, RankTask(), backend))
    assert [item.id for item, _ in found] == ["0", "1", "2", "3", "4", "5"]
    assert {answer.value["longest"] for _, answer in found} == {"XXX"}
    assert len(backend.submitted) == 5


def test_a_job_of_few_texts_repeated_does_not_hold_all_its_rows():
    taken = []

    def items():
        for n in range(1000):
            taken.append(n)
            yield Item(id=str(n), text="ab"[n % 2])

    found = answers(items(), RankTask(), FakeBackend(delay_ms=0.2), workers=2)
    _, answer = next(found)
    assert answer.value["longest"] == "A"
    assert len(taken) < 30
    found.close()
