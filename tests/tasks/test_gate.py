"""A gate's steps, driven by hand: who is asked, whose answer stands, and what is told of it."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from gated import LARGE, SMALL, Tier, answering, calibration, gate, tiers
from scripted import ONE_EACH, WordBackend, completion, run_by_hand, scores

from vedette.backends.tiers import Tiers
from vedette.decide.question import ask
from vedette.errors import (
    CalibrationMismatch,
    Cancelled,
    CapabilityMissing,
    InputError,
    RateLimited,
    ServerUnreachable,
)
from vedette.tasks.base import Embeds
from vedette.tasks.calibrations import Calibrations
from vedette.tasks.classify import QUESTION, Classify
from vedette.tasks.decide import Decide
from vedette.tasks.gate import Gate, GatedClassify, gate_of
from vedette.tasks.generate import Generate
from vedette.tasks.label_prompt import LabelledText
from vedette.tasks.labels import Label
from vedette.tasks.nearest.task import Nearest
from vedette.types import Constraint, Embedding, EmbedRequest, Item, Request

ITEM = Item(id="1", text="so so")
ONE = {"prompt_tokens": 10, "completion_tokens": 1}


def test_a_kept_answer_is_the_small_models_and_nobody_else_is_asked():
    answer, asked = run_by_hand(gate(), ITEM, answering(0.9, 0.1), tiers())
    assert [[ask.tier for ask in step] for step in asked] == [[0]]
    assert answer.value["label"] == "good"
    assert (answer.value["keep"], answer.value["tier"]) == (True, SMALL)
    assert answer.usage == ONE_EACH
    told = {"small": "good", "confidence": answer.value["probability"], "keep": True}
    assert answer.extra == {"gate": {"label": told}}
    assert answer.value["probability"] > 0.8


def test_an_answer_in_doubt_is_the_larger_models_with_both_usages():
    answer, asked = run_by_hand(gate(), ITEM, answering(0.7, 0.2), tiers())
    assert [[ask.tier for ask in step] for step in asked] == [[0], [1]]
    assert asked[0][0].prompt == asked[1][0].prompt
    assert (answer.value["label"], answer.value["probability"]) == ("bad", 0.8)
    assert (answer.value["keep"], answer.value["tier"]) == (False, LARGE)
    assert answer.usage == ONE_EACH + ONE_EACH
    told = answer.extra["gate"]["label"]
    assert (told["small"], told["keep"], told["large"]) == ("good", False, "bad")
    assert 0.5 < told["confidence"] < 0.8
    assert answer.extra["large_usage"] == ONE


def test_a_larger_model_that_cannot_score_writes_the_label():
    answer, asked = run_by_hand(gate(), ITEM, answering(0.7, "bad"), tiers(can_score=False))
    assert asked[1][0].constraint == Constraint("choice", '["good", "bad"]')
    assert answer.value == {
        "label": "bad", "probability": None, "scored": False, "keep": False, "tier": LARGE,
    }  # fmt: skip


def failing(error: Exception, small: float):
    def respond(ask):
        if ask.tier:
            raise error
        return answering(small, 0)(ask)

    return respond


def drive(task, respond, backend):
    """As `run_by_hand`, but what `respond` raises is the request's error, as in a job."""
    steps = task.steps(ITEM, backend)
    asks = next(steps)
    try:
        while True:
            try:
                results = [respond(ask) for ask in asks]
            except Exception as error:
                asks = steps.throw(error)
            else:
                asks = steps.send(results)
    except StopIteration as end:
        return end.value


def test_where_the_larger_model_fails_the_row_fails_and_says_whose_error_it_is():
    error = RateLimited("a quota is used up", hint="wait")
    with pytest.raises(RateLimited) as caught:
        drive(gate(), failing(error, 0.7), tiers())
    assert caught.value.message == f"the larger tier, {LARGE}: a quota is used up"
    assert caught.value.hint == "wait"


def test_an_error_of_the_small_model_is_the_rows_and_asks_nobody_else():
    def respond(ask):
        assert ask.tier == 0
        raise ServerUnreachable("gone")

    with pytest.raises(ServerUnreachable, match=r"^gone$"):
        drive(gate(audit=1.0), respond, tiers())


def test_an_audited_answer_stays_the_small_models_whatever_the_larger_one_says():
    answer, asked = run_by_hand(gate(audit=1.0), ITEM, answering(0.9, 0.2), tiers())
    assert [[ask.tier for ask in step] for step in asked] == [[0], [1]]
    kept, _ = run_by_hand(gate(), ITEM, answering(0.9, 0.2), tiers())
    assert answer.value == kept.value
    assert answer.extra["gate"]["label"]["large"] == "bad"
    assert answer.extra["large_usage"] == ONE


def test_an_audit_that_fails_costs_no_answer_and_is_told():
    error = ServerUnreachable("gone")
    answer = drive(gate(audit=1.0), failing(error, 0.9), tiers())
    assert answer.value["label"] == "good"
    assert answer.extra["audit_failed"] == "server_unreachable"
    assert "large" not in answer.extra["gate"]["label"]


def test_an_audit_that_was_cancelled_is_no_answer_yet():
    with pytest.raises(Cancelled):
        drive(gate(audit=1.0), failing(Cancelled("stopped"), 0.9), tiers())


def test_rows_are_audited_by_their_text_alone_in_the_share_that_was_asked_for():
    def audited(task, number: int, prefix: str) -> bool:
        item = Item(id=f"{prefix}{number}", text=f"row {number}")
        _, asked = run_by_hand(task, item, answering(0.9, 0.9), two)
        return len(asked) == 2

    two, task = tiers(), gate(audit=0.1)
    first = [audited(task, n, "a") for n in range(1000)]
    assert first == [audited(gate(audit=0.1), n, "b") for n in range(1000)]
    assert 70 <= sum(first) <= 130


def test_a_row_without_text_asks_nothing():
    answer, asked = run_by_hand(gate(audit=1.0), " ", answering(0.9, 0.9), tiers())
    assert asked == []
    assert answer.extra == {"empty": True}
    assert answer.value == {"label": None}


def test_what_the_larger_model_cannot_do_is_said_before_the_small_one_is_asked():
    task = gate()
    evident = replace(task.subject.task, evidence=True)
    with_evidence = Gate(GatedClassify(evident))
    with pytest.raises(CapabilityMissing, match=f"the larger tier, {LARGE}: evidence"):
        next(with_evidence.steps(ITEM, tiers(can_copy=False)))


def test_the_larger_model_is_tried_once_for_all_rows():
    task, two = gate(), tiers()
    for _ in range(3):
        run_by_hand(task, ITEM, answering(0.9, 0.9), two)
    assert len(two.tier(1).checked) == 1


def test_a_gate_needs_tiers_thresholds_and_a_share():
    with pytest.raises(CapabilityMissing, match="two tiers"):
        next(gate().steps(ITEM, WordBackend()))
    with pytest.raises(InputError, match="there are none"):
        GatedClassify(Classify((Label("good"), Label("bad"))))
    for share in (-0.1, 1.1, float("nan")):
        with pytest.raises(InputError, match="from 0 to 1"):
            gate(audit=share)


def test_what_cannot_stand_before_a_gate_is_refused_with_what_can():
    with pytest.raises(InputError, match="generate cannot be escalated"):
        gate_of(Generate())


def test_labels_by_the_nearest_examples_are_read_out_to_the_larger_model():
    examples = (LabelledText("so so", ("good",)), LabelledText("well", ("bad",)))
    labels = (Label("good"), Label("bad", "not good"))
    nearest = Nearest(labels, examples, out_of_scope="other", in_scope_loss=0.5)
    none_kept = replace(
        calibration(None), choices=("good", "bad", "other"), log_prior=(0.0, 0.0, 0.0)
    )
    known = Calibrations("classify", nearest.key(Tier(SMALL)), {QUESTION: none_kept})
    task = gate_of(replace(nearest, calibrations=known), audit=0.0)
    assert isinstance(task, Embeds)
    vectors = np.random.default_rng(1).normal(size=(len(task.texts), 5)).astype(np.float32)

    two = Tiers([Tier(SMALL, can_embed=True), Tier(LARGE)])

    def respond(ask):
        if isinstance(ask, EmbedRequest):
            return Embedding(vector=(1.0, 0.0, 0.0, 0.0, 0.0), usage=ONE_EACH)
        assert ask.tier == 1
        assert ask.choices == ("good", "bad", "other")
        assert "none of the others" in ask.prompt.messages[0].content
        return scores(-5.0, -0.1, -5.0)

    found, _ = run_by_hand(task.placed(vectors), ITEM, respond, two)
    assert found.value["label"] == "bad"
    assert found.value["tier"] == LARGE


QUESTIONS = (ask("angry=Is it angry?"), ask("team=Which team? bills|parcels"))
ODDS = {"angry": 0.9, "team": 0.6}  # the small model is sure of the first only


def gated_questions(audit: float = 0.0) -> Gate:
    bare = Decide(QUESTIONS)
    one = calibration()
    fitted = {
        question.id: replace(one, choices=question.names, log_prior=(0.0, 0.0))
        for question in QUESTIONS
    }
    known = Calibrations("decide", bare.key(Tier(SMALL)), fitted)
    return gate_of(replace(bare, calibrations=known), audit=audit)


def asked_questions():
    def respond(request):
        name = "angry" if "angry" in request.prompt.messages[-1].content else "team"
        if isinstance(request, Request):
            return completion({"angry": "no", "team": "parcels"}[name])
        p = 0.05 if request.tier else ODDS[name]
        return scores(math.log(p), math.log(1 - p))

    return respond


@pytest.mark.parametrize("can_score", [True, False])
def test_each_question_is_kept_or_asked_again_on_its_own(can_score):
    two = tiers(can_score=can_score)
    answer, asked = run_by_hand(gated_questions(), ITEM, asked_questions(), two)
    assert [[ask.tier for ask in step] for step in asked] == [[0, 0], [1]]
    angry, team = answer.value["answers"].values()
    assert (angry["keep"], angry["tier"], angry["noul"] > 0.8) == (True, SMALL, True)
    assert (team["keep"], team["tier"], team["choice"]) == (False, LARGE, "parcels")
    assert answer.extra["gate"]["team"]["large"] == "parcels"


def test_an_audit_asks_about_all_questions_and_changes_no_kept_answer():
    answer, asked = run_by_hand(gated_questions(audit=1.0), ITEM, asked_questions(), tiers())
    assert [[ask.tier for ask in step] for step in asked] == [[0, 0], [1, 1]]
    assert answer.value["answers"]["angry"]["tier"] == SMALL
    told = answer.extra["gate"]["angry"]
    assert (told["small"], told["large"]) == ("yes", "no")


def test_thresholds_are_the_small_models_and_are_refused_for_another():
    two = tiers()
    two.tier(0).identity = {"model": "another"}
    with pytest.raises(CalibrationMismatch):
        next(gate().steps(ITEM, two))


def test_the_identity_knows_thresholds_and_audit_and_not_the_price():
    one, lax = gate(), gate(one=calibration(0.6))
    assert json.dumps(one.identity) != json.dumps(lax.identity)
    assert one.identity != gate(audit=0.5).identity
    assert one.identity != one.subject.task.identity
    assert one.identity == gate(price=object()).identity


def test_the_small_and_the_larger_tier_are_two_models():
    with pytest.raises(InputError, match="the smaller tier and the larger one"):
        tiers().__class__([Tier(SMALL), Tier(SMALL)])
