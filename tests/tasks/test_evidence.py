"""The words that a label rests on, driven by hand."""

from __future__ import annotations

import json
import math

import pytest
from scripted import ONE_EACH, WordBackend, completion, run_by_hand, scores, user_text

from vedette.errors import CapabilityMissing
from vedette.tasks.classify import Classify
from vedette.tasks.labels import Label
from vedette.types import Request

LABELS = (Label("good"), Label("bad"))


def respond(ask):
    if isinstance(ask, Request):
        return completion({"words": "dull"})
    return scores(math.log(0.2), math.log(0.6))


def test_the_question_about_the_words_goes_on_where_the_label_was_said():
    task = Classify(LABELS, prior="none", evidence=True)
    answer, asked = run_by_hand(task, "a dull film", respond)
    ((scoring,), (copying,)) = asked
    n = len(scoring.prompt.messages)
    assert copying.prompt.messages[:n] == scoring.prompt.messages
    assert copying.prompt.messages[n].content == "bad"
    assert '"bad"' in user_text(copying)
    # The text is in the part that both share.
    assert scoring.prompt.shared_messages == copying.prompt.shared_messages == n
    assert copying.constraint.input == "a dull film"
    assert json.loads(copying.constraint.source)["properties"]["words"]["x-verbatim"] is True
    assert answer.value["label"] == "bad"
    assert answer.value["evidence"] == {"words": "dull", "span": [2, 6]}
    assert answer.usage == ONE_EACH + ONE_EACH


@pytest.mark.parametrize(("p_yes", "labels"), [(0.9, ["good", "bad"]), (0.1, [])])
def test_with_multi_every_label_that_applies_has_its_words(p_yes, labels):
    def answers(ask):
        if isinstance(ask, Request):
            return completion({"words": "a" if '"good"' in user_text(ask) else "film"})
        return scores(math.log(p_yes), math.log(1 - p_yes))

    answer, asked = run_by_hand(Classify(LABELS, multi=True, evidence=True), "a film", answers)
    assert [len(step) for step in asked] == [2, len(labels)]
    found = {"good": {"words": "a", "span": [0, 1]}, "bad": {"words": "film", "span": [2, 6]}}
    assert answer.value["evidence"] == {label: found[label] for label in labels}


def test_an_empty_text_has_no_label_and_no_words():
    answer, asked = run_by_hand(Classify(LABELS, evidence=True), " ", respond)
    assert (answer.value, asked) == ({"label": None}, [])


def test_evidence_changes_what_the_answers_depend_on():
    plain, told = Classify(LABELS), Classify(LABELS, evidence=True)
    assert plain.identity != told.identity
    with pytest.raises(CapabilityMissing, match="spans of the input"):
        run_by_hand(told, "x", respond, WordBackend(can_copy=False))
