"""Rewriting driven by hand: no model, every reply scripted."""

from __future__ import annotations

import json

import pytest
from scripted import WordBackend, always, completion, run_by_hand, user_text

from vedette.errors import CapabilityMissing, ConstraintFailed, InputError, InputTooLong
from vedette.tasks.rewrite import Rewrite
from vedette.types import Item, Request

QUESTION = "Hi! My parcel 881 has not come, what can I do?"


def replies(*values):
    """Each request gets the next reply."""
    left = iter(values)

    def respond(ask):
        assert isinstance(ask, Request)
        return completion(next(left))

    return respond


def test_each_mode_has_its_key_and_all_share_the_question():
    task = Rewrite(("query", "variants", "decompose", "hyde"), count=2)
    respond = replies(
        {"query": "parcel 881 not come"},
        {"variants": ["late parcel 881", "parcel lost"]},
        {"questions": ["where is a parcel?"]},
        {"passages": ["A late parcel can be traced. Ask Postino."]},
    )
    answer, asked = run_by_hand(task, QUESTION, respond)
    assert answer.value == {
        "query": "parcel 881 not come",
        "variants": ["late parcel 881", "parcel lost"],
        "questions": ["where is a parcel?"],
        "passages": ["A late parcel can be traced. Ask Postino."],
    }
    assert [len(step) for step in asked] == [4]
    shared = {user_text(ask)[: ask.prompt.shared_chars] for ask in asked[0]}
    assert shared == {f"Question: {QUESTION}\n\n"}
    assert answer.usage.prompt_tokens == 40


def test_a_fault_is_named_and_asked_for_once_more():
    respond = replies({"query": "parcel 882"}, {"query": "parcel 881"})
    answer, asked = run_by_hand(Rewrite(), QUESTION, respond)
    assert answer.value == {"query": "parcel 881"}
    again = asked[1][0].prompt.messages
    assert [message.role for message in again] == ["system", "user", "assistant", "user"]
    assert '"882" is not in the question.' in again[-1].content
    assert json.loads(again[-2].content) == {"query": "parcel 882"}
    assert answer.usage.prompt_tokens == 20


def test_what_fails_twice_is_left_out_and_told_and_the_question_is_the_fallback():
    answer, asked = run_by_hand(Rewrite(), QUESTION, always({"query": "parcel at DHL"}))
    assert len(asked) == 2
    assert answer.value == {
        "query": QUESTION,
        "fallback": True,
        "dropped": [
            {"mode": "query", "text": "parcel at DHL", "why": '"DHL" is not in the question.'}
        ],
    }


def test_variants_differ_from_each_other_and_from_the_question():
    first = {"variants": ["late parcel", "Late parcel!", QUESTION.lower()]}
    respond = replies(first, {"variants": ["late parcel", "parcel lost", "track parcel"]})
    answer, asked = run_by_hand(Rewrite(("variants",)), QUESTION, respond)
    assert answer.value == {"variants": ["late parcel", "parcel lost", "track parcel"]}
    turn = asked[1][0].prompt.messages[-1].content
    assert "It is there twice. It is the question itself." in turn


def test_good_variants_stay_where_others_are_dropped():
    same = always({"variants": ["late parcel", "parcel 9", "parcel 8"]})
    answer, _ = run_by_hand(Rewrite(("variants",)), QUESTION, same)
    assert answer.value["variants"] == ["late parcel"]
    assert "fallback" not in answer.value
    assert {entry["text"] for entry in answer.value["dropped"]} >= {"parcel 9", "parcel 8"}


def test_the_history_stands_before_the_question_and_its_names_may_be_used():
    history = [
        {"role": "user", "content": "I bought a Zeta 7 kettle."},
        {"role": "assistant", "content": "Nice."},
    ]
    item = Item(id="1", text="Does it have a filter?", columns={"history": history})
    answer, asked = run_by_hand(Rewrite(), item, always({"query": "Zeta 7 kettle filter"}))
    assert answer.value == {"query": "Zeta 7 kettle filter"}
    prompt = asked[0][0].prompt
    assert "user: I bought a Zeta 7 kettle.\nassistant: Nice." in user_text(asked[0][0])
    assert user_text(asked[0][0])[: prompt.shared_chars].endswith("filter?\n\n")


def test_the_language_is_kept():
    respond = replies({"query": "parcel lost"}, {"query": "包裹 丢失"})
    answer, asked = run_by_hand(Rewrite(), "我的包裹丢了怎么办？", respond)
    assert answer.value == {"query": "包裹 丢失"}
    assert "not in the language" in asked[1][0].prompt.messages[-1].content


def test_where_the_question_has_no_digit_none_can_be_written():
    for question, free in (("what to do?", False), (QUESTION, True)):
        _, asked = run_by_hand(Rewrite(), question, always({"query": "what to do"}))
        schema = json.loads(asked[0][0].constraint.source)
        assert ("pattern" in schema["properties"]["query"]) is not free


def test_a_query_that_was_cut_or_is_too_long_is_not_used():
    long = {"query": "parcel " * 65}
    answer, _ = run_by_hand(Rewrite(), QUESTION, always(long))
    assert answer.value["fallback"]
    assert answer.value["dropped"][0]["why"] == "It is longer than 64 tokens."


def test_a_question_without_text_is_not_asked():
    answer, asked = run_by_hand(Rewrite(), " \n", always({}))
    assert (answer.value, answer.extra, asked) == ({}, {"empty": True}, [])


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(CapabilityMissing):
        run_by_hand(Rewrite(), "x", always({}), WordBackend(can_constrain=False))
    with pytest.raises(InputTooLong):
        run_by_hand(Rewrite(), "word " * 200, always({}), WordBackend(context_tokens=200))
    with pytest.raises(ConstraintFailed):
        run_by_hand(Rewrite(), "x", always({"other": "y"}))
    with pytest.raises(InputError, match="history must be"):
        run_by_hand(Rewrite(), Item(id="1", text="x", columns={"history": 3}), always({}))
    with pytest.raises(InputError, match="message 1"):
        run_by_hand(Rewrite(), Item(id="1", text="x", columns={"history": [{}]}), always({}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"modes": ()}, "the modes are"),
        ({"modes": ("queries",)}, "'queries'"),
        ({"modes": ("query", "query")}, "twice"),
        ({"count": 0}, "count is 0"),
        ({"count": 11}, "at most 10"),
        ({"passages": 0}, "passages is 0"),
    ],
)
def test_parameters_that_are_none_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        Rewrite(**options)


def test_the_identity_tells_jobs_apart():
    kinds = [
        Rewrite(),
        Rewrite(("hyde",)),
        Rewrite(("query", "hyde")),
        Rewrite(count=2),
        Rewrite(passages=2),
        Rewrite(instructions="Short."),
    ]
    assert len({str(task.identity) for task in kinds}) == len(kinds)
