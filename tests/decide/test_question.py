"""Typed questions: what can be asked, and what is refused in which words."""

from __future__ import annotations

import pytest

from vedette.decide.confidence import (
    choice_confidence,
    entropy_confidence,
    expected_level,
    score_confidence,
)
from vedette.decide.question import (
    Option,
    Question,
    ask,
    check_ids,
    parse_questions,
    read_questions,
)
from vedette.errors import InputError

WIRE = {
    "route": {
        "type": "choice",
        "instructions": "Which team?",
        "criteria": {"billing": "payments", "shipping": None, "technical": {"x": 1}},
    },
    "urgency": {
        "type": "score",
        "instructions": ["How", "urgent?"],
        "criteria": ["can wait", "today"],
    },
    "angry": {
        "type": "noul",
        "instructions": "Angry?",
        "criteria": {"true": "shouts", "false": "is calm"},
    },
    "late": {"type": "noul", "instructions": {"ask": "Late?"}},
}


def test_the_questions_of_a_request_become_typed():
    route, urgency, angry, late = parse_questions({"questions": WIRE, "state": "..."})
    assert route.options == (
        Option("billing", "payments"),
        Option("shipping"),
        Option("technical", '{"x": 1}'),
    )
    assert (urgency.instructions, urgency.names) == ('["How", "urgent?"]', ("can wait", "today"))
    assert angry.options == (Option("yes", "shouts"), Option("no", "is calm"))
    assert (late.instructions, late.names) == ('{"ask": "Late?"}', ("yes", "no"))
    assert parse_questions(WIRE) == (route, urgency, angry, late)


def changed(**parts: object) -> dict[str, object]:
    return {"q": {"type": "choice", "instructions": "Which?", "criteria": {"a": None}, **parts}}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, '"questions" must be a non-empty object'),
        ([], '"questions" must be a non-empty object'),
        ({"q": 1}, "questions.q: must be an object"),
        ({"": WIRE["late"]}, "empty id"),
        (changed(type="poll"), '"type" must be one of: choice, score, noul'),
        (changed(criteria={}), '"criteria" must be a non-empty object'),
        (changed(criteria=["a"]), '"criteria" must be a non-empty object'),
        (changed(criteria={"a": 1}), "the meaning of 'a'"),
        (changed(criteria={" ": None}), "an option without a name"),
        (changed(criteria={str(i): None for i in range(256)}), "has 256 options"),
        (changed(type="score"), "an array of 2 to 10 levels"),
        (changed(type="score", criteria=["a"]), "an array of 2 to 10 levels"),
        (changed(type="score", criteria=["a", 1]), "an array of strings"),
        (changed(type="score", criteria=["a", "a"]), "'a' twice"),
        (changed(type="noul", criteria={"yes": "x"}), 'with "true" and "false"'),
        (changed(colour="red"), "unknown key 'colour'"),
        *[
            (changed(instructions=nothing), '"instructions" must be a non-empty')
            for nothing in ("", "  ", {}, [], 1, True, None)
        ],
    ],
)
def test_what_cannot_be_asked_is_refused_with_its_place(data, message):
    with pytest.raises(InputError) as caught:
        parse_questions(data)
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("spec", "kind", "instructions", "names"),
    [
        ("Is it urgent?", "noul", "Is it urgent?", ("yes", "no")),
        ("Which team? a|b c", "choice", "Which team?", ("a", "b c")),
        ("Why? or how? low<mid<high", "score", "Why? or how?", ("low", "mid", "high")),
        ("客户生气吗？", "noul", "客户生气吗？", ("yes", "no")),
        ("哪个部门？ 账单|物流", "choice", "哪个部门？", ("账单", "物流")),
        ("It is spam", "noul", "It is spam", ("yes", "no")),
    ],
)
def test_a_question_in_a_line(spec, kind, instructions, names):
    question = ask(spec, 3)
    assert (question.id, question.kind) == ("q3", kind)
    assert (question.instructions, question.names) == (instructions, names)


def test_a_question_in_a_line_can_be_named():
    assert ask("team=Which? a|b").id == "team"
    assert ask("Is a = b?").id == "q1"


@pytest.mark.parametrize(
    ("spec", "message", "hint"),
    [
        ("Which? only", "cannot read the question 'Which? only'", "billing|shipping"),
        ("", "the question '' has no words", "Is it urgent?"),
        ("team=", "the question 'team=' has no words", "Is it urgent?"),
        ("Which? a|", "'Which? a|' has an empty option", "on both sides of each |"),
        ("How? a<<b", "'How? a<<b' has an empty level", "on both sides of each <"),
        ("? a|b|a", "'? a|b|a' has the option 'a' twice", "leave one of them out"),
        ("How? a<a", "'How? a<a' has the level 'a' twice", "leave one of them out"),
        ("How? " + "<".join("abcdefghijk"), "has 11 levels; at most 10", "join some of the levels"),
        ("Which? " + "|".join(map(str, range(256))), "has 256 options; at most 255", "join some"),
    ],
)
def test_a_line_that_is_no_question_is_refused_as_it_was_typed(spec, message, hint):
    with pytest.raises(InputError) as caught:
        ask(spec, 1)
    assert message in caught.value.message
    assert "questions." not in caught.value.message
    assert hint in caught.value.hint


def test_a_question_of_a_file_is_refused_with_the_name_of_the_file():
    with pytest.raises(InputError, match=r"q\.json: questions\.q: must be an object"):
        read_questions('{"q": 1}', "q.json")


def test_questions_need_ids_of_their_own():
    question = Question("q", "noul", "Is it?")
    with pytest.raises(InputError, match="two questions have the id 'q'"):
        check_ids([question, question])
    with pytest.raises(InputError, match="there is no question"):
        check_ids([])


def test_confidence_is_0_at_even_odds_and_1_at_certainty():
    for confidence in (choice_confidence, entropy_confidence):
        assert confidence([0.25] * 4) == pytest.approx(0)
        assert confidence([0, 1, 0, 0]) == pytest.approx(1)
        assert confidence([1.0]) == 1
    assert choice_confidence([0.88, 0.02, 0.10]) == pytest.approx(0.82)
    assert score_confidence([0.0, 0.03, 0.97, 0.0]) == pytest.approx(0.97)
    assert score_confidence([0, 0, 1]) == 1
    assert score_confidence([0.5, 0, 0.5]) == 0
    assert expected_level([0.0, 0.03, 0.97, 0.0]) == pytest.approx(1.97)
