"""The steps of a classification, driven by hand: no model, every score scripted."""

from __future__ import annotations

import json
import math

import pytest
from scripted import ONE_EACH, WordBackend, always, completion, run_by_hand, scores, user_text

from vedette.errors import CapabilityMissing, InputTooLong, LabelError
from vedette.tasks.classify import Classify
from vedette.tasks.label_prompt import LabelledText
from vedette.tasks.labels import Label
from vedette.tasks.prompt_data import load_prompt
from vedette.types import Answer, Constraint, ScoreRequest

LABELS = (Label("good"), Label("bad"))
CONTENT_FREE = load_prompt("classify")["content_free"]


def is_content_free(ask: ScoreRequest) -> bool:
    return user_text(ask) in CONTENT_FREE


def biased(ask):
    """The model that says good 9 times of 10 before it has read anything."""
    p = (0.45, 0.05) if is_content_free(ask) else (0.3, 0.1)
    return scores(*map(math.log, p))


def test_the_prior_is_measured_once_for_a_backend_and_applied_to_every_item():
    task, backend = Classify(LABELS), WordBackend()
    first, asked = run_by_hand(task, "so so", biased, backend)
    assert [len(step) for step in asked] == [1 + len(CONTENT_FREE)]
    assert [is_content_free(ask) for ask in asked[0]] == [False] + [True] * len(CONTENT_FREE)
    second, asked = run_by_hand(task, "so so", biased, backend)
    assert [len(step) for step in asked] == [1]
    assert first == second
    assert first.value == {
        "label": "bad",
        "probability": 0.75,
        "margin": 0.5,
        "mass": 0.4,
        "probabilities": {"good": 0.25, "bad": 0.75},
    }
    assert first.usage == ONE_EACH
    _, asked = run_by_hand(task, "so so", biased, WordBackend())
    assert len(asked[0]) > 1


def test_an_explanation_has_the_odds_before_the_prior_and_the_prior():
    answer, _ = run_by_hand(Classify(LABELS, explain=True), "so so", biased)
    assert answer.value["explain"] == {
        "raw": {"good": 0.75, "bad": 0.25},
        "prior": {"good": 0.9, "bad": 0.1},
        "temperature": 1.0,
    }
    plain, _ = run_by_hand(Classify(LABELS), "so so", biased)
    assert {**plain.value, "explain": answer.value["explain"]} == answer.value


def test_what_cannot_be_explained_is_refused():
    with pytest.raises(LabelError, match="nothing is explained"):
        Classify(LABELS, multi=True, explain=True)
    with pytest.raises(CapabilityMissing, match="only scores"):
        run_by_hand(Classify(LABELS, explain=True), "x", biased, WordBackend(can_score=False))


def test_the_stream_prior_is_the_mean_over_the_first_texts_and_their_scores_are_used_once():
    task = Classify(LABELS)
    assert (task.study_rows(WordBackend()), task.least_study_rows) == (64, 16)
    raw = [
        run_by_hand(task.study_task(), text, lambda ask, p=p: scores(math.log(p), math.log(1 - p)))
        for text, p in (("one", 0.9), ("two", 0.7))
    ]
    assert [len(asked) for _, asked in raw] == [1, 1]
    finding = task.learnt([answer for answer, _ in raw])
    assert [math.exp(value) for value in finding] == pytest.approx([0.8, 0.2])
    assert task.told(finding) == "prior over the first texts, divided out: good 0.80, bad 0.20"
    known = task.knowing(finding, {"two": raw[1][0]})
    answer, asked = run_by_hand(known, "two", biased)
    assert asked == []
    assert answer.value["label"] == "bad"
    assert answer.usage == ONE_EACH
    again, asked = run_by_hand(known, "two", lambda ask: scores(math.log(0.7), math.log(0.3)))
    assert [len(step) for step in asked] == [1]
    assert again == answer


def test_what_has_no_stream_prior_wants_no_study():
    assert Classify(LABELS, prior="none").study_rows(WordBackend()) == 0
    assert Classify(LABELS, prior="content-free").study_rows(WordBackend()) == 0
    assert Classify(LABELS, multi=True).study_rows(WordBackend()) == 0
    assert Classify(LABELS).knowing(None, {}) == Classify(LABELS)


def test_without_a_prior_the_scores_are_left_as_they_are():
    answer, asked = run_by_hand(Classify(LABELS, prior="none"), "so so", biased)
    assert len(asked[0]) == 1
    assert answer.value["probabilities"] == {"good": 0.75, "bad": 0.25}


def test_the_labels_are_the_choices_and_stand_in_the_shared_part():
    examples = (LabelledText("{labels}", ("bad",)),)
    _, asked = run_by_hand(Classify(LABELS, examples=examples), "mine {labels}", biased)
    ask = asked[0][0]
    assert ask.choices == ("good", "bad")
    system, user, assistant, last = ask.prompt.messages
    assert "- good\n- bad\n" in system.content
    assert user.content == "{labels}"
    assert assistant.content == "bad"
    assert last.content == "mine {labels}"
    assert ask.prompt.shared_messages == 3


def test_descriptions_and_instructions_are_shown():
    labels = (Label("good", "it works {labels}"), Label("bad"))
    (system,) = Classify(labels, instructions="Think.").wording.shared_messages
    assert "\n- good: it works {labels}\n- bad\n" in system.content
    assert system.content.endswith("\nThink.")


def yes_to_good(ask):
    is_good = 'label "good"' in user_text(ask)
    return scores(*map(math.log, (0.4, 0.1) if is_good else (0.1, 0.4)))


def test_with_multi_each_label_is_a_question_of_its_own():
    task = Classify((Label("good", "it works"), Label("bad"), Label("ugly")), multi=True)
    answer, asked = run_by_hand(task, 'the {label} "bad"', yes_to_good)
    ((good, *others),) = asked
    assert good.choices == ("yes", "no")
    assert 'Text: the {label} "bad"\nDoes the label "good" (it works) apply' in user_text(good)
    assert len(others) == 2
    assert answer.value == {
        "labels": ["good"],
        "probabilities": {"good": 0.8, "bad": 0.2, "ugly": 0.2},
    }
    assert answer.usage.prompt_tokens == 3 * ONE_EACH.prompt_tokens


def test_with_multi_no_label_and_all_labels_are_answers():
    def respond(*p):
        return lambda ask: scores(*map(math.log, p))

    task = Classify(LABELS, multi=True)
    assert run_by_hand(task, "x", respond(0.1, 0.2))[0].value["labels"] == []
    assert run_by_hand(task, "x", respond(0.2, 0.1))[0].value["labels"] == ["good", "bad"]
    assert run_by_hand(task, "x", respond(0.2, 0.2))[0].value["labels"] == []


def test_with_multi_the_examples_are_asked_about_as_the_item_is():
    task = Classify(LABELS, multi=True, examples=(LabelledText("it was", ("bad",)),))
    _, asked = run_by_hand(task, "it is", yes_to_good)
    _system, *shown, _item = asked[0][0].prompt.messages
    assert [m.content for m in shown if m.role == "assistant"] == ["no", "yes"]
    asked_about = [m.content for m in shown if m.role == "user"]
    assert [text.replace("it was", "it is") for text in asked_about] == [
        user_text(ask) for ask in asked[0]
    ]


@pytest.mark.parametrize(("multi", "value"), [(False, {"label": None}), (True, {"labels": []})])
def test_an_empty_text_has_no_label_and_asks_nothing(multi, value):
    answer, asked = run_by_hand(Classify(LABELS, multi=multi), " \n", biased)
    assert asked == []
    assert answer == Answer(value=value, extra={"empty": True})


@pytest.mark.parametrize(("words", "context"), [(3501, 100_000), (301, 556)])
def test_a_text_that_is_too_long_is_refused_with_both_sizes(words, context):
    backend = WordBackend(context_tokens=context)
    with pytest.raises(InputTooLong, match=f"has {words} tokens.* up to {words - 1}"):
        run_by_hand(Classify(LABELS), "word " * words, biased, backend)
    run_by_hand(Classify(LABELS), "word " * (words - 1), biased, backend)


def test_a_missing_capability_is_named():
    neither = WordBackend(can_score=False, can_constrain=False)
    with pytest.raises(CapabilityMissing, match="score"):
        run_by_hand(Classify(LABELS), "x", biased, neither)


def test_where_nothing_can_be_scored_the_model_writes_a_label_and_the_answer_says_so():
    task, backend = Classify(LABELS), WordBackend(can_score=False)
    assert task.study_rows(backend) == 0
    answer, ((ask,),) = run_by_hand(task, "so so", always("bad"), backend)
    assert answer.value == {"label": "bad", "probability": None, "scored": False}
    assert answer.usage == ONE_EACH
    assert ask.constraint == Constraint("choice", '["good", "bad"]')
    assert ask.prompt == task.wording.prompt("so so")
    assert ask.max_tokens > len("good")


def test_several_labels_are_written_as_a_yes_or_no_each():
    def respond(ask):
        return completion("yes" if '"bad"' in ask.prompt.messages[-1].content else "no")

    task, backend = Classify(LABELS, multi=True), WordBackend(can_score=False)
    answer, (asks,) = run_by_hand(task, "so so", respond, backend)
    assert answer.value == {"labels": ["bad"], "probabilities": None, "scored": False}
    assert {ask.constraint.source for ask in asks} == {'["yes", "no"]'}
    assert answer.usage == ONE_EACH + ONE_EACH


def test_a_backend_that_answers_another_question_is_a_bug():
    with pytest.raises(TypeError):
        run_by_hand(Classify(LABELS), "x", lambda ask: completion("good"))


def test_the_identity_changes_with_what_the_answers_depend_on_and_with_nothing_else():
    base = Classify(LABELS)
    run_by_hand(base, "x", biased)
    assert base.identity == Classify(LABELS).identity
    shown = (LabelledText("a", ("good",)),)
    others = [
        Classify(LABELS[::-1]),
        Classify((Label("good", "fine"), Label("bad"))),
        Classify(LABELS, multi=True),
        Classify(LABELS, prior="none"),
        Classify(LABELS, prior="content-free"),
        Classify(LABELS, instructions="More."),
        Classify(LABELS, examples=shown),
        Classify(LABELS, examples=shown, multi=True),
    ]
    seen = {json.dumps(task.identity) for task in [base, *others]}
    assert len(seen) == 1 + len(others)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"labels": ()}, "is empty"),
        ({"labels": (Label("a"), Label("a"))}, "duplicates: 'a'"),
        ({"labels": (Label("a"), Label(" "))}, "empty name"),
        ({"labels": LABELS, "prior": "flat"}, "not 'flat'"),
        ({"labels": LABELS, "examples": (LabelledText("a", ("ugly",)),)}, "label 'ugly'"),
        ({"labels": LABELS, "examples": (LabelledText("a", ()),)}, "exactly one label"),
        ({"labels": LABELS, "examples": (LabelledText("a", ("good", "bad")),)}, "--multi"),
    ],
)
def test_what_cannot_be_asked_is_refused(options, said):
    with pytest.raises(LabelError) as caught:
        Classify(**options)
    assert said in caught.value.message
