"""The cost curve of a step."""

from __future__ import annotations

import pytest

from vedette.engine.curve import CostCurve
from vedette.errors import InputError

# IQ4_NL on two cores: blocks of four.
CURVE = CostCurve.of({1: 25.5, 2: 40.0, 3: 51.2, 4: 37.0, 8: 60.0})


def test_between_sizes_it_is_a_line_and_past_the_last_one_the_mean_cost():
    assert CURVE.seconds(4) == 37.0
    assert CURVE.seconds(6) == pytest.approx(48.5)
    assert CURVE.seconds(16) == pytest.approx(120.0)
    assert CURVE.relative(4) == pytest.approx(37.0 / 25.5)


@pytest.mark.parametrize(("n", "size"), [(1, 1), (2, 4), (3, 4), (4, 4), (6, 6), (8, 8), (9, 9)])
def test_a_step_is_padded_only_where_more_tokens_take_less(n, size):
    assert CURVE.padded(n) == size


@pytest.mark.parametrize("seconds", [{}, {2: 1.0}, {1: 0.0}])
def test_a_curve_that_says_nothing_is_refused(seconds):
    with pytest.raises(InputError):
        CostCurve.of(seconds)
