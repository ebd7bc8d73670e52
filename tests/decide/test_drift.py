"""The stability index: quiet without drift, loud with it, and patient with few rows."""

from __future__ import annotations

import random

import pytest

from vedette.decide.drift import ALARM_OVER, drift
from vedette.decide.risk import error_bound, least_error

SHARES = (0, 0, 0, 0, 0, 0.1, 0.1, 0.1, 0.2, 0.5)


def counts(shares, n: int, rng: random.Random) -> list[int]:
    drawn = rng.choices(range(10), shares, k=n)
    return [drawn.count(bar) for bar in range(10)]


@pytest.mark.parametrize(("n_before", "n_now"), [(100, 100), (200, 1000), (1000, 200)])
def test_rows_of_the_same_sort_are_no_alarm(n_before, n_now):
    rng = random.Random(1)
    for _ in range(200):
        before = [count / n_before for count in counts(SHARES, n_before, rng)]
        assert not drift(before, n_before, counts(SHARES, n_now, rng), n_now).is_alarm


def test_rows_of_another_sort_are_an_alarm():
    rng = random.Random(1)
    now = counts((0, 0, 0, 0, 0, 0.3, 0.3, 0.2, 0.1, 0.1), 500, rng)
    assert drift(SHARES, 500, now, 500).is_alarm


def test_the_same_shares_have_an_index_of_nothing_at_any_number_of_rows():
    for n in (10, 1000, 1_000_000):
        now = [round(share * n) for share in SHARES]
        assert drift(SHARES, 200, now, n).index == pytest.approx(0, abs=1e-9)


def test_few_rows_need_a_larger_shift_and_none_are_none():
    assert not drift(SHARES, 200, [49, *[0] * 9], 49).is_alarm
    assert drift(SHARES, 200, [50, *[0] * 9], 50).is_alarm
    assert drift(SHARES, 60, [6] * 10, 60).limit == pytest.approx(0.93)
    assert drift(SHARES, 10_000, [1000] * 10, 10_000).limit == ALARM_OVER
    assert not drift(SHARES, 200, [0] * 10, 0).is_alarm


def test_the_lower_bound_is_the_mirror_of_the_upper_one():
    # 3 wrong of 100: the one-sided 95% lower bound of Clopper and Pearson is 0.00823.
    assert least_error(3, 100, 0.05) == pytest.approx(0.00823, abs=1e-4)
    assert least_error(0, 50, 0.05) == 0
    assert least_error(0, 0, 0.05) == 0
    assert least_error(30, 50, 0.05) == pytest.approx(1 - error_bound(20, 50, 0.05))
    assert least_error(30, 50, 0.05) < 0.6 < error_bound(30, 50, 0.05)
