"""What is trained on is what the task asks and the engine reads."""

from __future__ import annotations

import pytest

from tiny_gguf import END_OF_TURN
from vedette.adapt.lessons import lessons_of
from vedette.adapt.subjects import Asked, Extracted, Labelled
from vedette.backends.local import LocalBackend
from vedette.decide.question import ask
from vedette.engine.options import EngineOptions
from vedette.tasks.classify import Classify
from vedette.tasks.decide import Decide
from vedette.tasks.extract import Extract
from vedette.tasks.labels import Label
from vedette.types import Item

SCHEMA = {
    "type": "object",
    "properties": {
        "level": {"enum": ["WARN", "ERROR", None]},
        "message": {"type": ["string", "null"], "maxLength": 80, "x-verbatim": True},
    },
    "required": ["level", "message"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def backend(tiny_full):
    options = EngineOptions(cells=512, max_context_tokens=2048, threads=1)
    opened = LocalBackend(tiny_full, options)
    yield opened
    opened.close()


def items_of(*texts: str) -> list[Item]:
    return [Item(id=str(number), text=text) for number, text in enumerate(texts, start=1)]


def said(backend, tokens) -> str:
    return backend.engine.detokenize(tokens)


def extracted(texts, right, **options) -> Extracted:
    task = Extract(schema=SCHEMA, **options)
    return Extracted(task=task, items=items_of(*texts), right=right)


def test_an_object_is_said_as_the_engine_would_write_it(backend):
    right = [{"message": "disk full", "level": "ERROR"}]  # the schema has level first
    subject = extracted(["ERROR disk full on db"], right)
    (lesson,), left_out = lessons_of(subject, [0], backend, 2000)
    assert left_out == []
    assert lesson.row == "1"
    answer = '{"level": "ERROR", "message": "disk full"}'
    assert said(backend, lesson.answer) == answer + END_OF_TURN
    (request,) = next(subject.task.steps(subject.items[0], backend))
    assert said(backend, lesson.prompt) == backend.show_prompt(request)


def test_without_the_schema_the_prompt_is_the_row(backend):
    subject = extracted(["WARN slow"], [{"level": "WARN", "message": None}], prompt_schema=False)
    (lesson,), _ = lessons_of(subject, [0], backend, 2000)
    assert "fields" not in said(backend, lesson.prompt)
    assert said(backend, lesson.prompt).endswith("WARN slow<|im_end|>\n<|im_start|>assistant\n")


def test_rows_that_cannot_be_learnt_are_named_and_none_is_cut(backend):
    texts = ["WARN slow", "ERROR " + "failed " * 200, "all fine", "x " * 1600]
    right = [
        {"level": "WARN", "message": "slow"},
        {"level": "ERROR", "message": None},
        {"level": None, "message": "not in the text"},
        {"level": None, "message": None},
    ]
    subject = extracted(texts, right, prompt_schema=False, window_tokens=500)
    lessons, left_out = lessons_of(subject, range(4), backend, 200)
    assert [lesson.row for lesson in lessons] == ["1"]
    assert [one.row for one in left_out] == ["2", "3", "4"]
    assert "over the 200 of training" in left_out[0].why
    assert "the schema allows no" in left_out[1].why
    assert "windows" in left_out[2].why


def test_an_answer_that_is_longer_than_the_task_writes_is_left_out(backend):
    subject = extracted(["WARN slow"], [{"level": "WARN", "message": "slow"}], max_tokens=6)
    lessons, (left_out,) = lessons_of(subject, [0], backend, 2000)
    assert lessons == []
    assert "the task writes 6" in left_out.why


def test_a_label_is_one_question_without_those_that_measure_the_prior(backend):
    task = Classify(labels=(Label("positive"), Label("negative")), prior="content-free")
    subject = Labelled(task=task, items=items_of("great", "bad"), right=["positive", "negative"])
    lessons, _ = lessons_of(subject, [1, 0], backend, 2000)
    assert [lesson.row for lesson in lessons] == ["2", "1"]
    assert [said(backend, lesson.answer) for lesson in lessons] == [
        "negative" + END_OF_TURN,
        "positive" + END_OF_TURN,
    ]
    asked = backend.show_prompt(task.wording.request("bad"))
    assert said(backend, lessons[0].prompt) == asked


def test_each_question_that_a_row_answers_is_a_lesson_in_each_order(backend):
    questions = (ask("ok=Good?"), ask("way=Which way? up|down"))
    task = Decide(questions=questions, both_orders=True)
    right = {"ok": [0, None], "way": [1, 0]}
    subject = Asked(task=task, items=items_of("one", "two"), right=right)
    lessons, _ = lessons_of(subject, [0, 1], backend, 2000)
    answers = [said(backend, lesson.answer).removesuffix(END_OF_TURN) for lesson in lessons]
    assert [(lesson.row, answer) for lesson, answer in zip(lessons, answers, strict=True)] == [
        ("1", "yes"),
        ("1", "down"),
        ("1", "yes"),
        ("1", "down"),
        ("2", "up"),
        ("2", "up"),
    ]
    prompts = [said(backend, lesson.prompt) for lesson in lessons[:4]]
    assert len(set(prompts)) == 4
