"""Confidence of extracted objects, and the thresholds that keep them: every answer scripted."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from scripted import WordBackend, completion, run_by_hand

from vedette.decide.calibration import Promise
from vedette.decide.risk import Threshold
from vedette.errors import (
    CalibrationMismatch,
    CapabilityMissing,
    EngineFailed,
    FileError,
    InputError,
    NothingQualifies,
)
from vedette.evaluate import calibrate_extract as module
from vedette.evaluate.calibrate_extract import calibrate_extract, is_same, values_of
from vedette.tasks.extract import Example, Extract
from vedette.tasks.extract_thresholds import (
    ExtractThresholds,
    confidence_of,
    extract_thresholds_of,
    read_extract_thresholds,
)
from vedette.types import Answer, Item, TokenLogprob

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
PROMISE = Promise(alpha=0.1, delta=0.05)


class Named(WordBackend):
    """A backend with an identity."""

    def __init__(self, model: str = "m") -> None:
        super().__init__()
        self.identity = {"model": model}


def token(probability: float, *, forced: bool = False) -> TokenLogprob:
    logprob = math.log(probability)
    return TokenLogprob(token_id=1, text="x", logprob=logprob, runner_up_gap=1.0, forced=forced)


def said(*probabilities: float, value: object = None, cut=None):
    """An answer with a forced token in front, of which the model thought nothing of."""
    tokens = (token(0.001, forced=True), *map(token, probabilities))
    return replace(completion(value or {"n": 1}), logprobs=tokens, cut=cut)


def thresholds(task: Extract, above: float | None, model: str = "m") -> ExtractThresholds:
    threshold = None if above is None else Threshold(above, 0.09, 100, 4, 200)
    return ExtractThresholds(task.key(Named(model)), PROMISE, threshold, 200)


def test_the_confidence_is_the_product_over_what_the_model_chose():
    assert confidence_of([said(0.5, 0.8)]) == pytest.approx(0.4)
    assert confidence_of([said(0.5, 0.8), said(0.5)]) == pytest.approx(0.2)
    assert confidence_of([said()]) == 1.0


def test_an_answer_that_was_cut_is_never_sure():
    assert confidence_of([said(0.9), said(0.9, cut="loop")]) == 0.0


def test_a_backend_that_tells_no_logprobs_is_named():
    with pytest.raises(CapabilityMissing, match="log-probabilities"):
        confidence_of([completion({"n": 1})])


@pytest.mark.parametrize(("above", "keep"), [(0.39, True), (0.4, False), (None, False)])
def test_each_answer_says_how_sure_it_is_and_whether_it_is_kept(above, keep):
    task = Extract(SCHEMA)
    task = replace(task, thresholds=thresholds(task, above))
    answer, ((request,),) = run_by_hand(task, "x", lambda ask: said(0.5, 0.8), Named())
    assert request.logprobs
    assert answer.value == {"n": 1}
    assert answer.extra == {"confidence": 0.4, "keep": keep}


def test_without_thresholds_nothing_is_asked_or_told_of_it():
    plain, ((request,),) = run_by_hand(Extract(SCHEMA), "x", lambda ask: said(0.5), Named())
    assert not request.logprobs
    assert plain.extra == {}
    told, _ = run_by_hand(Extract(SCHEMA, tells_confidence=True), "x", lambda ask: said(0.5))
    assert told.extra == {"confidence": 0.5}


def test_thresholds_hold_for_one_schema_prompt_and_model_only():
    task = Extract(SCHEMA)
    made = thresholds(task, 0.5)
    others = [
        (Extract(SCHEMA, instructions="Be brief."), "m"),
        (Extract(SCHEMA, examples=(Example("a", {"n": 2}),)), "m"),
        (Extract({**SCHEMA, "title": "t"}), "m"),
        (Extract(SCHEMA, max_tokens=99), "m"),
        (task, "another"),
    ]
    for other, model in others:
        with pytest.raises(CalibrationMismatch, match="another model, schema or prompt"):
            run_by_hand(replace(other, thresholds=made), "x", lambda ask: said(0.9), Named(model))


def test_the_identity_of_a_job_has_its_thresholds():
    task = Extract(SCHEMA)
    several = [
        task,
        replace(task, thresholds=thresholds(task, 0.5)),
        replace(task, thresholds=thresholds(task, 0.6)),
        replace(task, tells_confidence=True),
    ]
    assert len({json.dumps(one.identity, sort_keys=True) for one in several}) == 4
    assert len({one.key(Named()) for one in several}) == 1


@pytest.mark.parametrize("above", [0.5, None])
def test_a_file_is_read_as_it_was_written(tmp_path, above):
    made = thresholds(Extract(SCHEMA), above)
    made.write(str(tmp_path / "t.json"))
    assert read_extract_thresholds(str(tmp_path / "t.json")) == made
    assert extract_thresholds_of(made.as_dict()) == made


def test_another_file_is_refused(tmp_path):
    (tmp_path / "t.json").write_text('{"format": "vedette-calibration-1"}')
    with pytest.raises(FileError, match=r"is no threshold file: its format is"):
        read_extract_thresholds(str(tmp_path / "t.json"))
    half = {"format": "vedette-extract-thresholds-1", "made_for": "x", "threshold": None}
    with pytest.raises(InputError, match="promise' is missing"):
        extract_thresholds_of(half)


def calibrated(monkeypatch, outcomes, right, alpha=0.1):
    items = [Item(id=str(i), text="x") for i in range(len(outcomes))]
    monkeypatch.setattr(module, "answers", lambda items, *_: zip(items, outcomes, strict=True))
    task, promise = Extract(SCHEMA), Promise(alpha=alpha)
    return calibrate_extract(task, items, right, Named(), promise)


def answer(value: object, confidence: float) -> Answer:
    return Answer(value=value, extra={"confidence": confidence})


def test_what_lies_over_the_wrong_ones_is_kept(monkeypatch):
    outcomes = [answer({"n": 1}, 0.9 - i / 1000) for i in range(60)]
    outcomes += [answer({"n": 2}, 0.5 - i / 1000) for i in range(60)]
    found = calibrated(monkeypatch, outcomes, [{"n": 1}] * 120)
    assert found.n_rows == 120
    assert found.threshold is not None
    assert found.threshold.n_wrong <= 2
    assert 0.49 < found.threshold.above < 0.9
    assert found.keeps(0.95)
    assert not found.keeps(0.4)
    assert found.key == Extract(SCHEMA).key(Named())


def test_a_row_without_an_object_counts_as_wrong_and_unsure(monkeypatch):
    rows = [answer({"n": 1}, 0.9)] * 40
    found = calibrated(monkeypatch, [*rows, *[NothingQualifies("no")] * 40], [{"n": 1}] * 80)
    assert (found.n_rows, found.threshold.n_kept, found.threshold.above) == (80, 40, 0.0)


def test_what_breaks_ends_the_calibration(monkeypatch):
    with pytest.raises(EngineFailed):
        calibrated(monkeypatch, [EngineFailed("broken")], [{"n": 1}])


def test_a_right_object_must_fit_the_schema():
    items = [Item(id="7", text="x", columns={"value": {"n": "one"}})]
    with pytest.raises(InputError, match="row 7: its value does not fit the schema"):
        values_of(items, "value", Extract(SCHEMA))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        ([0], [False], False),
        ({"a": 1, "b": [None]}, {"b": [None], "a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ([1, 2], [2, 1], False),
        ([1], [1, 2], False),
        ("a", "a ", False),
        ({}, [], False),
    ],
)
def test_values_are_compared_as_json(one, other, same):
    assert is_same(one, other) is same
