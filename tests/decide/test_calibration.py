"""A question's calibration: what is fitted, what is kept, what survives a file."""

from __future__ import annotations

import json
import math
import random

import pytest

from vedette.decide.calibration import Promise, calibrate, calibration_of, histogram
from vedette.decide.closed import decide

CHOICES = ("yes", "no")


def drawn(n: int, *, bias: float, seed: int = 0) -> tuple[list[list[float]], list[int]]:
    """Scores of a model that is sure and right, but leans to the first choice by `bias`."""
    rng = random.Random(seed)
    rows, right = [], []
    for _ in range(n):
        index = rng.randrange(2)
        lean = rng.gauss(3.0 if index == 0 else -3.0, 1.0) + bias
        rows.append([lean / 2, -lean / 2])
        right.append(index)
    return rows, right


def test_a_leaning_is_divided_out_and_the_sure_ones_are_kept():
    rows, right = drawn(400, bias=4.0)
    raw = sum(decide(CHOICES, row).best == CHOICES[i] for row, i in zip(rows, right, strict=True))
    found = calibrate(CHOICES, rows, right, Promise())
    fitted = [found.decide(row) for row in rows]
    n_right = sum(d.best == CHOICES[i] for d, i in zip(fitted, right, strict=True))
    assert n_right > raw + 40
    assert found.threshold is not None
    kept = [(d, i) for d, i in zip(fitted, right, strict=True) if found.keeps(d)]
    assert len(kept) == found.threshold.n_kept > 250
    n_wrong = sum(d.best != CHOICES[i] for d, i in kept)
    assert n_wrong == found.threshold.n_wrong
    assert found.n_rows == 400


def test_scores_that_say_nothing_are_never_kept():
    rng = random.Random(3)
    rows = [[rng.gauss(0, 1), rng.gauss(0, 1)] for _ in range(300)]
    right = [rng.randrange(2) for _ in range(300)]
    found = calibrate(CHOICES, rows, right, Promise())
    assert found.threshold is None
    assert not any(found.keeps(found.decide(row)) for row in rows)
    assert found.temperature > 3


def test_each_choice_can_have_a_threshold_of_its_own():
    rows, right = drawn(600, bias=0.0)
    # What is called "no" is wrong half the time; "yes" stays reliable.
    spoilt = [i if i == 0 or n % 2 else 0 for n, i in enumerate(right)]
    found = calibrate(CHOICES, rows, spoilt, Promise(), by_choice=True)
    assert found.threshold is None
    assert found.by_choice is not None
    assert found.by_choice["yes"] is not None
    assert found.by_choice["no"] is None
    kept = {d.best for d in map(found.decide, rows) if found.keeps(d)}
    assert kept == {"yes"}


@pytest.mark.parametrize("by_choice", [False, True])
def test_a_calibration_is_the_same_after_a_file(by_choice):
    rows, right = drawn(300, bias=1.0)
    found = calibrate(CHOICES, rows, right, Promise(alpha=0.1), by_choice=by_choice)
    assert calibration_of(json.loads(json.dumps(found.as_dict()))) == found


def test_the_histogram_has_all_rows():
    assert histogram([0.05, 0.95, 1.0, 0.51]) == (0.25, 0, 0, 0, 0, 0.25, 0, 0, 0, 0.5)
    assert math.fsum(histogram([])) == 0
