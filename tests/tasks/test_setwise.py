"""Which leaders are compared, and what a comparison may move."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.tasks.setwise import SET_SIZE, mean_shifts, open_groups, turned

MOST = 0.25


def logs(*values: float) -> list[float]:
    return [math.log(value) for value in values]


def test_neighbours_further_apart_than_a_comparison_can_move_are_settled():
    scores = [3.0, 2.0, 1.0, 0.0]
    assert open_groups([0, 1, 2, 3], scores, 4, MOST) == []
    scores = [3.0, 2.6, 1.0, 0.6]
    assert open_groups([0, 1, 2, 3], scores, 4, MOST) == [[0, 1], [2, 3]]


def test_a_run_below_the_wanted_places_does_not_matter():
    scores = [3.0, 2.0, 1.0, 0.9]
    assert open_groups([0, 1, 2, 3], scores, 2, MOST) == []
    assert open_groups([0, 1, 2, 3], scores, 3, MOST) == [[2, 3]]


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=10), st.integers(1, 10))
def test_groups_overlap_by_one_and_hold_what_is_open(scores, top):
    leaders = sorted(range(len(scores)), key=lambda i: -scores[i])
    groups = open_groups(leaders, scores, top, MOST)
    assert all(2 <= len(group) <= SET_SIZE for group in groups)
    together = {frozenset(pair) for group in groups for pair in pairwise(group)}
    for one, other in pairwise(leaders[: top + 1]):
        is_open = scores[one] - scores[other] <= 2 * MOST
        assert (frozenset((one, other)) in together) == is_open


def test_a_leaning_to_a_place_moves_nothing():
    place = logs(0.6, 0.1, 0.3)
    found = mean_shifts([[4, 5, 6], [6, 7, 8]], [place] * 6, MOST)
    assert sorted(found) == [4, 5, 6, 7, 8]
    assert list(found.values()) == pytest.approx([0.0] * 5, abs=1e-9)


@pytest.mark.parametrize("winner", [0, 1, 2])
def test_the_passage_that_wins_in_every_place_rises_and_the_others_fall(winner):
    group = [4, 5, 6]
    rows = [logs(*(0.8 if j == group[winner] else 0.1 for j in order)) for order in turned(group)]
    found = mean_shifts([group], rows, MOST)
    assert [j for j in group if found[j] > 0] == [group[winner]]
    assert sum(found.values()) == pytest.approx(0)


def test_a_member_of_two_groups_takes_the_mean():
    won, lost = logs(0.9, 0.1), logs(0.1, 0.9)
    found = mean_shifts([[0, 1], [1, 2]], [won, lost, won, lost], MOST)
    assert found[0] == pytest.approx(-found[2])
    assert found[1] == pytest.approx(0)
    assert found[0] > 0


@given(st.lists(st.lists(st.floats(-30, -0.01), min_size=9, max_size=9), min_size=1, max_size=4))
def test_no_shift_is_larger_than_the_most(said):
    groups = [[2 * i, 2 * i + 1, 2 * i + 2] for i in range(len(said))]
    rows = [values[n : n + 3] for values in said for n in (0, 3, 6)]
    assert all(abs(shift) <= MOST + 1e-9 for shift in mean_shifts(groups, rows, MOST).values())
