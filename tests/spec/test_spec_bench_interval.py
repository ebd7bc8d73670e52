"""The interval holds what it promises, and verdicts are those of the figures."""

from __future__ import annotations

import numpy as np
import pytest

from vedette.spec.bench.interval import Interval, interval, student_quantile


def figures(random, n, ratio=1.0, noise=0.08):
    """Prompts of very different length, times with a heavy tail."""
    tokens = random.integers(20, 120, size=n).astype(float)
    own = random.lognormal(0, 0.3, size=n)  # some prompts are slower, for both sides
    base = tokens * own * random.lognormal(0, noise, size=n)
    other = tokens * own * random.lognormal(0, noise, size=n) / ratio
    return np.stack([tokens, base, tokens, other], axis=1)


@pytest.mark.parametrize("n", [4, 12])
def test_two_that_are_the_same_are_hardly_ever_called_different(n):
    random = np.random.default_rng(7)
    wrong = sum(
        interval([figures(random, n) for _ in range(4)], seed).kind != "no difference"
        for seed in range(200)
    )
    assert wrong <= 5  # of 200; 1 in 100 is what the interval promises


def test_the_interval_holds_the_true_ratio_as_often_as_it_says():
    random = np.random.default_rng(3)
    found = [interval([figures(random, 12, ratio=1.3)], seed) for seed in range(200)]
    assert sum(one.low <= 1.3 <= one.high for one in found) >= 194


def test_a_real_difference_is_found():
    random = np.random.default_rng(1)
    assert interval([figures(random, 12, ratio=1.5)]).kind == "faster"
    assert interval([figures(random, 12, ratio=0.6)]).kind == "slower"


def test_workloads_count_alike_however_many_prompts_they_have():
    many = np.tile([10.0, 1.0, 10.0, 0.5], (30, 1))
    few = np.tile([10.0, 1.0, 10.0, 2.0], (4, 1))
    assert interval([many, few]).ratio == pytest.approx(1.0)


def test_the_ratio_is_of_speeds_where_answers_differ_in_length():
    rows = np.tile([100.0, 2.0, 50.0, 0.5], (5, 1))
    assert interval([rows]).ratio == pytest.approx(2.0)


def test_one_prompt_tells_nothing():
    found = interval([np.array([[10.0, 1.0, 10.0, 0.1]])])
    assert found.kind == "unknown"
    assert "too few prompts" in found.words


@pytest.mark.parametrize(
    ("ratio", "low", "high", "kind", "words"),
    [
        (1.5, 1.4, 1.6, "faster", "faster: 1.50 times the speed (1.40 to 1.60)"),
        (0.5, 0.4, 0.6, "slower", "slower: 0.50 times the speed"),
        (1.01, 1.005, 1.015, "no difference", "no difference that matters"),
        (1.0, 0.97, 1.03, "no difference", "no difference that matters"),
        (1.05, 0.9, 1.2, "no difference", "what lies within 0.90 to 1.20 would not show"),
        (1.0, 0.4, 2.5, "unknown", "too few prompts"),
    ],
)
def test_verdicts(ratio, low, high, kind, words):
    found = Interval(ratio=ratio, low=low, high=high)
    assert found.kind == kind
    assert words in found.words


@pytest.mark.parametrize(
    ("p", "freedom", "value"),
    [(0.975, 1, 12.706), (0.995, 3, 5.841), (0.995, 11, 3.106), (0.975, 1000, 1.962)],
)
def test_student_quantiles_are_those_of_the_tables(p, freedom, value):
    assert student_quantile(p, freedom) == pytest.approx(value, rel=2e-3)
