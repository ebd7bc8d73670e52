"""Calibration figures."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.decide.closed import tempered
from vedette.decide.reliability import (
    accuracy,
    area_under_risk,
    bins,
    brier_score,
    expected_calibration_error,
    risk_coverage,
)
from vedette.decide.risk import Judged

some_rows = st.lists(st.builds(Judged, st.floats(0, 1), st.booleans()), min_size=1, max_size=60)


def test_confidence_that_is_accuracy_has_no_error():
    rows = [Judged(0.75, i % 4 != 0) for i in range(40)]
    assert expected_calibration_error(rows) == pytest.approx(0)
    assert accuracy(rows) == 0.75
    assert brier_score(rows) == pytest.approx(0.75 * 0.25)


def test_overconfidence_is_the_distance():
    rows = [Judged(0.95, i % 2 == 0) for i in range(40)]
    assert expected_calibration_error(rows) == pytest.approx(0.45)


@given(some_rows)
def test_every_row_is_in_one_bin_and_under_its_edges(rows):
    found = bins(rows)
    assert sum(b.n for b in found) == len(rows)
    assert all(b.low - 1e-9 <= b.confidence <= b.high + 1e-9 for b in found)
    assert 0 <= expected_calibration_error(rows) <= 1


@given(some_rows)
def test_the_risk_curve_ends_with_all_rows(rows):
    points = risk_coverage(rows)
    if not points:  # all rows at confidence 0: no threshold keeps them
        assert {row.confidence for row in rows} == {0}
        return
    assert [p.coverage for p in points] == sorted({p.coverage for p in points})
    assert all(
        sum(row.confidence > p.above for row in rows) == round(p.coverage * len(rows))
        for p in points
    )
    if min(row.confidence for row in rows) > 0:
        assert points[-1].error == pytest.approx(1 - accuracy(rows))


def test_the_right_order_has_the_smaller_area():
    right = [Judged(0.9, True), Judged(0.8, True), Judged(0.3, False)]
    wrong = [Judged(0.3, True), Judged(0.8, True), Judged(0.9, False)]
    assert area_under_risk(right) == pytest.approx(1 / 9)
    assert area_under_risk(wrong) > area_under_risk(right)


def test_a_temperature_keeps_the_order_and_the_sum():
    warmed = tempered([math.log(0.7), math.log(0.2), math.log(0.1)], 2.0)
    assert math.fsum(map(math.exp, warmed)) == pytest.approx(1)
    assert warmed == sorted(warmed, reverse=True)
    assert math.exp(warmed[0]) < 0.7
