"""The Python interface on a tiny random model: typed, lazy, in order, cancellable."""

from __future__ import annotations

import asyncio
import json
import math
import random
import threading
from typing import Literal

import jsonschema_rs
import pytest
from pydantic import BaseModel, Field, field_validator

import vedette
from vedette.api import shared
from vedette.errors import (
    Cancelled,
    ConstraintFailed,
    InputError,
    InputTooLong,
    LabelError,
    ModelNotFound,
    SchemaError,
)
from vedette.types import Answer, Item, Message, Prompt

SCHEMA = {
    "type": "object",
    "properties": {
        "level": {"enum": ["INFO", "ERROR", None], "x-evidence": {"ERROR": "(?i)err|错误"}},
        "code": {"type": ["string", "null"], "x-one-of-input": r"\d+"},
        "message": {"type": ["string", "null"], "maxLength": 24, "x-verbatim": True},
        "note": {"type": "string", "maxLength": 6},
    },
    "required": ["level", "code", "message", "note"],
    "additionalProperties": False,
}


class Event(BaseModel):
    level: Literal["INFO", "ERROR"] | None = None
    count: int = Field(ge=0, le=9)


class Tags(BaseModel):
    tags: list[Literal["a", "b"]] = Field(max_length=2)


class Picky(BaseModel):
    level: Literal["INFO", "ERROR"]

    @field_validator("level")
    @classmethod
    def never(cls, value: str) -> str:
        raise ValueError("not today")


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VEDETTE_OFFLINE", "1")
        patch.setenv("VEDETTE_THREADS", "1")
        patch.setenv("VEDETTE_CONTEXT_TOKENS", "4096")
        patch.setenv("VEDETTE_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="module")
def engine(settings, tiny_full):
    with vedette.Engine(str(tiny_full)) as opened:
        yield opened


@pytest.fixture(scope="module")
def model(settings, tiny_full):
    """A name for the functions that share an engine for each model."""
    yield str(tiny_full)
    shared._close()


def random_texts(n: int) -> list[str]:
    dice = random.Random(5)
    pieces = [
        *("error", "INFO", "42", "7", "日志", "错误", "服务", '"', "\\", "'", "\n", "\t", "{", "}"),
        *(
            "🙂",
            "👩‍👩‍👧",
            "é",
            "e\u0301",
            "<|im_end|>",
            "{fields}",
            " ",
            ":",
            "null",
            "\u2028",
            "\x00",
        ),
    ]
    return ["".join(dice.choices(pieces, k=dice.randint(1, 25))) + "x" for _ in range(n)]


def test_extraction_is_valid_grounded_and_verbatim_for_any_text(engine):
    validator = jsonschema_rs.validator_for(SCHEMA)
    texts = random_texts(30)
    outcomes = list(vedette.map(texts, vedette.Extract(SCHEMA), backend=engine.backend))
    assert len(outcomes) == len(texts)
    for text, outcome in zip(texts, outcomes, strict=True):
        assert isinstance(outcome, Answer), (text, outcome)
        value = outcome.value
        validator.validate(value)
        assert value["level"] != "ERROR" or "err" in text.lower() or "错误" in text
        for name in ("message", "code"):
            if value[name] is not None:
                start, end = outcome.extra["spans"][f"/{name}"]
                assert text[start:end] == value[name]


@pytest.mark.parametrize("multi", [False, True])
def test_label_probabilities_are_probabilities_for_any_text(engine, multi):
    task = vedette.Classify({"good": "it works", "bad": "", "错误": ""}, multi=multi)
    for outcome in vedette.map(random_texts(10), task, backend=engine.backend):
        probabilities = outcome.value["probabilities"]
        assert list(probabilities) == ["good", "bad", "错误"]
        assert all(0 <= p <= 1 for p in probabilities.values())
        if multi:
            assert outcome.value["labels"] == [k for k, p in probabilities.items() if p > 0.5]
        else:
            assert math.fsum(probabilities.values()) == pytest.approx(1, abs=1e-3)
            assert probabilities[outcome.value["label"]] == max(probabilities.values())


def test_the_nearest_example_has_a_text_s_label(engine):
    shown = [("all is well", "good"), ("all is lost", "bad")]
    task = vedette.Classify("good,bad", examples=shown, method="nearest")
    (found,) = vedette.map(["all is lost"], task, backend=engine.backend)
    assert found.value["label"] == "bad"
    assert found.value["nearest"] == "all is lost"
    assert engine.embed("all is lost").vector != engine.embed("all is well").vector


def test_questions_about_a_text_are_answered_by_id(engine):
    lines = vedette.Decide(["Is it late?", "mood=Mood? bad<good"])
    wire = vedette.Decide({"late": {"type": "noul", "instructions": "Is it late?"}})
    (one,) = vedette.map(["Where is it?"], lines, backend=engine.backend)
    (other,) = vedette.map(["Where is it?"], wire, backend=engine.backend)
    assert list(one.value["answers"]) == ["q1", "mood"]
    assert one.usage.cached_tokens > one.usage.prompt_tokens / 3  # the text is read once
    assert one.value["answers"]["q1"]["noul"] == pytest.approx(
        other.value["answers"]["late"]["noul"], abs=0.01
    )


def test_documents_are_ranked_and_questions_rewritten(engine):
    documents = ["cats purr", {"id": "b", "text": "dogs bark"}, "猫会叫"]
    found = vedette.rerank("do cats purr?", documents, top=3, backend=engine.backend)
    assert sorted(result["index"] for result in found) == [0, 1, 2]
    said = vedette.rewrite("does it purr", history="I have a cat.", backend=engine.backend)
    assert isinstance(said["query"], str)


def test_map_is_lazy_in_order_and_an_error_does_not_end_it(engine):
    taken = []

    def items():
        for i in range(1000):
            taken.append(i)
            text = "word " * 3600 if i == 3 else f"text {i % 5}"
            yield Item(id=f"n{i}", text=text) if i % 2 else text

    found = vedette.map(items(), vedette.Classify("a,b"), backend=engine.backend, workers=2)
    assert taken == []
    outcomes = [next(found) for _ in range(8)]
    assert len(taken) < 200  # the 128 that a study may look at, and those under way
    assert [isinstance(outcome, InputTooLong) for outcome in outcomes] == [i == 3 for i in range(8)]
    first, again = (outcomes[i].value["probabilities"] for i in (0, 5))
    assert again == pytest.approx(first, abs=0.02)
    found.close()
    assert next(found, None) is None


def test_amap_gives_what_map_gives(engine):
    async def collect():
        task = vedette.Extract("level:INFO|ERROR, ok:bool")
        return [one async for one in vedette.amap(["a", "", "b"], task, backend=engine.backend)]

    task = vedette.Extract("level:INFO|ERROR, ok:bool")
    expected = list(vedette.map(["a", "", "b"], task, backend=engine.backend))
    found = asyncio.run(collect())
    assert [answer.value for answer in found] == [answer.value for answer in expected]
    assert found[1].extra == {"empty": True}


def test_cancelling_an_amap_at_work_ends_with_the_cancellation(engine):
    at_work, go_on = threading.Event(), threading.Event()

    def items():
        yield "a"
        at_work.set()
        go_on.wait(30)
        yield "b"

    async def take():
        async for _ in vedette.amap(items(), vedette.Classify("a,b"), backend=engine.backend):
            pass

    async def cancel_at_work():
        task = asyncio.create_task(take())
        await asyncio.to_thread(at_work.wait, 30)
        task.cancel()
        asyncio.get_running_loop().call_later(0.01, go_on.set)
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel_at_work())


def test_a_pydantic_model_comes_back_as_an_instance(model):
    event = vedette.extract("some text", Event, model=model)
    assert isinstance(event, Event)
    assert 0 <= event.count <= 9
    event = asyncio.run(vedette.aextract("some text", Event, model=model))
    assert isinstance(event, Event)
    assert vedette.extract("", Tags, model=model) == Tags(tags=[])


def test_what_a_pydantic_model_refuses_is_a_vedette_error(model):
    with pytest.raises(ConstraintFailed, match=r"Picky refuses it: level: .*not today"):
        vedette.extract("some text", Picky, model=model)
    with pytest.raises(InputError, match="empty, and Picky allows no empty answer"):
        vedette.extract("", Picky, model=model)


def test_the_functions_share_one_engine_for_each_model(model):
    value = vedette.extract("x", "level:INFO|ERROR", model=model)
    assert value["level"] in ("INFO", "ERROR", None)
    found = vedette.classify("x", ["a", "b"], model=model)
    assert found == asyncio.run(vedette.aclassify("x", ["a", "b"], model=model))
    assert found["label"] in ("a", "b")
    assert list(shared._opened) == [("local", model)]


def test_a_backend_may_be_named_by_its_address(settings, tiny_full):
    found = vedette.classify("x", ["a", "b"], backend=f"local:{tiny_full}")
    assert found["label"] in ("a", "b")
    shared._close()


def test_a_model_beside_a_backend_that_has_its_own_is_refused(engine):
    with pytest.raises(InputError, match="address"):
        list(vedette.map(["a"], vedette.Classify("a,b"), model="m", backend=engine.backend))


def test_complete_keeps_to_its_constraint(engine):
    prompt = [{"role": "system", "content": "Say."}, {"role": "user", "content": "what"}]
    done = engine.complete(prompt, choices=["yes", "no"], max_tokens=8)
    assert done.text in ("yes", "no")
    assert done.finish_reason == "stop"
    done = engine.complete("what", regex="[ab]{3}", max_tokens=8)
    assert set(done.text) <= {"a", "b"}
    done = engine.complete("what", schema=Event, max_tokens=40)
    Event.model_validate_json(done.text)
    assert engine.complete("what", schema={"const": 7}, max_tokens=8).text == "7"


def test_an_empty_schema_means_any_json(engine):
    done = engine.complete("what", schema={}, max_tokens=30)
    json.loads(done.text)


def test_sampling_repeats_with_its_seed_and_the_limit_is_kept(engine):
    first, again, other = (
        engine.complete("what", max_tokens=6, temperature=1.0, seed=seed, logprobs=True)
        for seed in (1, 1, 2)
    )
    assert first.text == again.text != other.text
    assert first.finish_reason == "length"
    assert len(first.logprobs) == 6
    whole = engine.complete(Prompt(messages=(Message("user", "what"),)), max_tokens=6)
    assert whole.text == engine.complete("what", max_tokens=6).text


def test_a_stream_is_the_completion_in_pieces(engine):
    pieces = list(engine.stream("what", schema=SCHEMA, max_tokens=60))
    assert len(pieces) > 1
    assert "".join(pieces) == engine.complete("what", schema=SCHEMA, max_tokens=60).text


def test_closing_a_stream_early_cancels_its_request(engine, monkeypatch):
    handles = []
    submit = engine.backend.submit

    def remembered(request):
        handles.append(submit(request))
        return handles[-1]

    monkeypatch.setattr(engine.backend, "submit", remembered)
    stream = engine.stream("what", max_tokens=3000)
    next(stream)
    stream.close()
    with pytest.raises(Cancelled):
        handles[0].result(30)


def test_acomplete_gives_what_complete_gives(engine):
    done = asyncio.run(engine.acomplete("what", schema=Event, max_tokens=40))
    assert done.text == engine.complete("what", schema=Event, max_tokens=40).text


def test_scores_are_log_probabilities_in_the_order_of_the_choices(engine):
    scores = engine.score("what", ["yes", "no", "other"])
    assert scores.choices == ("yes", "no", "other")
    assert all(value < 0 for value in scores.logprobs)
    turned = engine.score("what", ["other", "no", "yes"])
    assert turned.logprobs[::-1] == pytest.approx(scores.logprobs, abs=0.05)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"schema": {}, "regex": ""}, "only one of"),
        ({"schema": Event, "choices": ["a"]}, "only one of"),
        ({"schema": {"type": "thing"}}, "not a JSON Schema"),
        ({"schema": {"type": object}}, "cannot be written as JSON"),
        ({"schema": 3}, "a schema is a dict"),
        ({"choices": []}, ""),
        ({"max_tokens": 0}, "max_tokens"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_runs(engine, options, said):
    with pytest.raises(InputError) as caught:
        engine.complete("what", **options)
    assert said in caught.value.message


@pytest.mark.parametrize("messages", [[{"content": "x"}], [{"role": "tool", "content": "x"}], []])
def test_a_chat_needs_messages_with_roles(engine, messages):
    with pytest.raises(InputError):
        engine.complete(messages)


def test_tasks_refuse_what_they_cannot_use():
    with pytest.raises(LabelError, match="duplicates"):
        vedette.Classify(["a", "a"])
    with pytest.raises(LabelError, match="'c'"):
        vedette.Classify("a,b", examples=[("text", "c")])
    with pytest.raises(SchemaError, match="example 1"):
        vedette.Extract(Event, examples=[("text", {"count": -1})])
    with pytest.raises(SchemaError, match="twice"):
        vedette.Extract("a,a")


def test_a_model_that_is_not_here_is_said_offline(settings, tmp_path):
    with pytest.raises(ModelNotFound):
        vedette.Engine(str(tmp_path / "none.gguf"))
    with pytest.raises(ModelNotFound) as caught:
        vedette.extract("x", "a", model="smollm2-135m")
    assert caught.value.hint
