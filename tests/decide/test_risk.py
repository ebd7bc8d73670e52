"""Thresholds: what they promise, and that they keep it."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.decide.risk import Judged, binomial_cdf, error_bound, find_threshold, least_rows
from vedette.errors import InputError


def judged(*rows: tuple[float, bool]) -> list[Judged]:
    return [Judged(confidence, is_right) for confidence, is_right in rows]


@pytest.mark.parametrize(("alpha", "rows"), [(0.05, 59), (0.02, 149), (0.01, 299)])
def test_without_a_wrong_answer_a_promise_takes_as_many_rows_as_the_binomial_says(alpha, rows):
    assert least_rows(0, alpha, 0.05) == rows
    assert error_bound(0, rows, 0.05) <= alpha < error_bound(0, rows - 1, 0.05)


def test_the_bound_is_the_exact_binomial_one():
    # 3 wrong of 100: the 95% upper bound of Clopper and Pearson is 0.0757 (published tables).
    assert error_bound(3, 100, 0.05) == pytest.approx(0.07571, abs=1e-4)
    assert error_bound(5, 5, 0.05) == 1
    assert binomial_cdf(1, 2, 0.5) == pytest.approx(0.75)


@given(st.integers(0, 30), st.integers(1, 200), st.floats(0.01, 0.5))
def test_the_bound_grows_with_errors_and_shrinks_with_rows(n_wrong, more, delta):
    n = n_wrong + more
    assert n_wrong / n <= error_bound(n_wrong, n, delta) <= 1
    assert error_bound(n_wrong, n, delta) <= error_bound(n_wrong + 1, n, delta) + 1e-9
    assert error_bound(n_wrong, n + 1, delta) <= error_bound(n_wrong, n, delta) + 1e-9


def test_sure_rows_are_kept_and_unsure_ones_are_not():
    rows = judged(*[(0.9, True)] * 150, *[(0.4, False)] * 50)
    found = find_threshold(rows, 0.05, 0.05)
    assert found is not None
    assert (found.above, found.n_kept, found.n_wrong) == (0.4, 150, 0)
    assert found.coverage == 0.75
    assert found.error_bound <= 0.05


def test_where_everything_is_right_everything_is_kept():
    found = find_threshold(judged(*[(0.5 + i / 400, True) for i in range(100)]), 0.05, 0.05)
    assert found is not None
    assert (found.above, found.coverage) == (0.0, 1.0)


@pytest.mark.parametrize(
    "rows",
    [
        [],
        judged(*[(0.9, True)] * 58),
        judged(*[(0.9, i % 2 == 0) for i in range(500)]),
        judged(*[(0.99, False)] * 60, *[(0.5, True)] * 500),
    ],
    ids=["none", "too-few", "a-coin", "surest-are-wrong"],
)
def test_no_threshold_can_promise_it(rows):
    assert find_threshold(rows, 0.05, 0.05) is None


def test_rows_of_equal_confidence_are_kept_or_left_together():
    rows = judged(*[(0.9, True)] * 50, *[(0.8, True)] * 40, *[(0.2, False)] * 40)
    found = find_threshold(rows, 0.05, 0.05)
    assert found is not None
    assert (found.above, found.n_kept) == (0.2, 90)


@pytest.mark.parametrize(("alpha", "delta"), [(0, 0.05), (1, 0.05), (0.05, 0), (0.05, 1.5)])
def test_a_promise_of_nothing_or_everything_is_refused(alpha, delta):
    with pytest.raises(InputError, match="must be between 0 and 1"):
        find_threshold(judged((0.9, True)), alpha, delta)


def test_the_promise_holds_as_often_as_it_says():
    # Right with probability equal to the confidence: the true error over t is known.
    rng = random.Random(1)
    broken = found_any = 0
    for _ in range(300):
        draws = [rng.betavariate(4, 1) for _ in range(300)]
        rows = [Judged(p, rng.random() < p) for p in draws]
        found = find_threshold(rows, 0.1, 0.1)
        if found is None:
            continue
        found_any += 1
        t = found.above
        # E[1 - p | p > t] under Beta(4, 1), whose density is 4 p^3.
        mean = (4 / 5) * (1 - t**5) / (1 - t**4)
        broken += 1 - mean > 0.1
    assert found_any > 200
    assert broken / 300 <= 0.1 + 2 * math.sqrt(0.1 * 0.9 / 300)
