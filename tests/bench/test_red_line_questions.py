"""The questions about red lines: the same each time, and their right answers are right."""

from __future__ import annotations

import re

from red_line_questions import FACTS, NAMES, questions

ASKED = questions()


def of(kind):
    found = [asked for asked in ASKED if asked.kind.startswith(kind)]
    assert found
    return found


def test_they_are_the_same_for_a_seed_and_others_for_another():
    assert questions() == ASKED
    assert questions(1)[0] != ASKED[0]


def test_every_right_answer_has_the_form_that_answers_are_held_to():
    for asked in ASKED:
        assert asked.right
        if asked.answer:
            assert all(re.fullmatch(asked.answer, one) for one in asked.right)


def test_what_can_be_copied_stands_in_the_text():
    for asked in of("copy"):
        assert asked.right[0] in asked.text


def test_products_and_lists_are_worked_out_right():
    for asked in of("multiply"):
        a, b = map(int, re.findall(r"\d+", asked.question))
        assert asked.right == (str(a * b),)
    for asked in of("count lines"):
        colour = asked.question.split()[-1].rstrip("?")
        assert asked.right == (str(asked.text.count(f": {colour}\n")),)
    for asked in of("find a line"):
        (code,) = re.findall(r"\d+", asked.question)
        assert f"box {code}: {asked.right[0]}\n" in asked.text


def test_orders_have_one_answer():
    for asked in of("put three"):
        older = re.findall(r"(\w+) is older than (\w+)\.", asked.text)
        order = [name for name in NAMES if any(name in pair for pair in older)]
        order.sort(key=lambda name: len(_younger(name, dict(older))), reverse=True)
        assert asked.right[0] == (order[1] if "second" in asked.question else order[-1])


def _younger(name, older):
    found = []
    while name in older:
        found.append(name := older[name])
    return found


def test_a_thing_is_where_it_was_moved_to_last():
    for asked in of("follow"):
        at = {}
        for sentence in asked.text.strip().rstrip(".").split(". "):
            rooms = re.findall(r"the (kitchen|cellar|garage|office|hall)", sentence)
            things = re.findall(r"[Tt]he (key|map|cup)", sentence)
            moved = things or [one for one, room in at.items() if room == rooms[0]]
            assert len(moved) == 1
            at[moved[0]] = rooms[-1]
        (thing,) = re.findall(r"the (key|map|cup)", asked.question)
        assert asked.right == (at[thing],)


def test_facts_have_a_question_and_an_answer_each():
    lines = [line for line in FACTS.read_text("utf-8").splitlines() if not line.startswith("#")]
    assert len(lines) == len(set(lines)) == len(of("facts")) == 60
