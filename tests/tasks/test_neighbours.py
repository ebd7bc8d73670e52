"""Scores lent between texts that are alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.tasks.neighbours import MOST_NEIGHBOURS, TEXTS_PER_NEIGHBOUR, lent

APART = [f"alpha{n} beta{n} gamma{n}" for n in range(10 * TEXTS_PER_NEIGHBOUR)]


def test_equal_scores_stay_equal():
    assert lent([2.0] * 20, APART[:20], 0.9) == pytest.approx([2.0] * 20)


def test_texts_that_are_alike_come_closer_and_forms_of_a_word_are_one():
    texts = [*APART[:18], "heating of plates", "heated plates"]
    scores = [0.0] * 18 + [1.0, -1.0]
    found = lent(scores, texts, 0.9)
    assert abs(found[18] - found[19]) < 1
    assert found[18] > found[19]
    assert found[:18] == pytest.approx([0.0] * 18)


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=TEXTS_PER_NEIGHBOUR - 1))
def test_among_a_few_texts_nothing_is_lent(scores):
    assert lent(scores, ["the same words"] * len(scores), 0.9) == scores


@given(
    st.lists(st.tuples(st.text("ab 猫", max_size=6), st.floats(-3, 3)), max_size=30),
    st.floats(0, 0.99),
)
def test_no_score_leaves_the_range_of_all(rows, share):
    texts, scores = [text for text, _ in rows], [score for _, score in rows]
    found = lent(scores, texts, share)
    assert len(found) == len(scores)
    assert all(min(scores) - 1e-9 <= score <= max(scores) + 1e-9 for score in found)


def test_there_are_never_more_than_the_most_neighbours():
    n = 2 * MOST_NEIGHBOURS * TEXTS_PER_NEIGHBOUR
    texts = [f"common {'x' * (1 + i % 5)} word{i}" for i in range(n)]
    found = lent([1.0, *[0.0] * (n - 1)], texts, 0.5)
    assert found[0] > max(found[1:]) > 0
