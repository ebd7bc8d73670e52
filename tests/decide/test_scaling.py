"""The scaling of scores: what spoilt them is found, and few rows do not lead astray."""

from __future__ import annotations

import math
import random

import pytest

from vedette.decide.closed import decide, tempered
from vedette.decide.reliability import expected_calibration_error
from vedette.decide.risk import Judged
from vedette.decide.scaling import COLDEST, HOTTEST, Scaling, fit_scaling


def drawn(n: int, *, temperature: float = 1.0, lean: tuple[float, ...] = (0, 0, 0), seed: int = 2):
    """Honest scores, and what a model makes of them that is too sure and leans to some choices."""
    rng = random.Random(seed)
    rows, right = [], []
    for _ in range(n):
        honest = tempered([rng.gauss(0, 1.5) for _ in lean], 1.0)
        right.append(rng.choices(range(len(lean)), [math.exp(v) for v in honest])[0])
        rows.append([v * temperature + by for v, by in zip(honest, lean, strict=True)])
    return rows, right


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("leans", [True, False])
def test_the_temperature_that_spoilt_the_scores_is_found(temperature, leans):
    found = fit_scaling(*drawn(3000, temperature=temperature), leans=leans)
    assert found.temperature == pytest.approx(temperature, rel=0.1)
    if not leans:
        assert found.log_prior == (0.0, 0.0, 0.0)


def test_confidences_mean_what_they_say_after_a_lean_and_a_temperature():
    spoilt = {"temperature": 2.5, "lean": (2.0, 0.0, -1.0)}
    fit = fit_scaling(*drawn(3000, **spoilt))
    rows, right = drawn(3000, **spoilt, seed=3)

    def error(scaling: Scaling) -> float:
        said = [decide((0, 1, 2), row, scaling.log_prior, scaling.temperature) for row in rows]
        pairs = zip(said, right, strict=True)
        return expected_calibration_error([Judged(d.probability, d.best == i) for d, i in pairs])

    assert error(Scaling((0.0, 0.0, 0.0), 1.0)) > 0.1
    assert error(fit) < 0.03


def test_choices_that_were_never_right_are_not_ruled_out():
    rows, _ = drawn(40)
    found = fit_scaling(rows, [0] * 40)
    weights = tempered([-v for v in found.log_prior], found.temperature)
    assert min(map(math.exp, weights)) > 0.001


def test_no_rows_and_rows_that_say_all_or_nothing():
    assert fit_scaling([], []) == Scaling((), 1.0)
    sure = [[0.0, -1.0], [-1.0, 0.0]] * 20
    assert fit_scaling(sure, [0, 1] * 20).temperature == pytest.approx(COLDEST)
    assert fit_scaling(sure, [1, 0] * 20).temperature == pytest.approx(HOTTEST)
    assert fit_scaling([[0.0], [0.0]], [0, 0]).log_prior == (0.0,)


def test_the_order_of_the_rows_does_not_matter():
    rows, right = drawn(60, lean=(1.0, 0.0, 0.0))
    one, other = fit_scaling(rows, right), fit_scaling(rows[::-1], right[::-1])
    assert one.temperature == pytest.approx(other.temperature, rel=1e-5)
    assert one.log_prior == pytest.approx(other.log_prior, abs=1e-5)
