"""Decisions: probabilities from log-probabilities, and what corrects them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vedette.decide.closed import decide, log_sum, mean_prior, normalised

rows = st.integers(1, 6).flatmap(
    lambda n: st.tuples(*[st.lists(st.floats(-400, 0), min_size=n, max_size=n)] * 2)
)


def logs(*values: float) -> list[float]:
    return [math.log(value) for value in values]


@settings(deadline=None)
@given(rows)
def test_probabilities_sum_to_one_with_and_without_a_prior(pair):
    logprobs, prior = pair
    names = [str(i) for i in range(len(logprobs))]
    for decision in (decide(names, logprobs), decide(names, logprobs, prior)):
        assert math.fsum(decision.probabilities) == pytest.approx(1)
        assert decision.probability == max(decision.probabilities)
        assert decision.best in decision.choices
        assert 0 <= decision.margin <= 1
        assert 0 <= decision.mass <= 1
        assert sorted(decision.order) == list(range(len(names)))


def test_scores_become_probabilities_and_the_mass_is_kept():
    decision = decide(["a", "b", "c"], logs(0.1, 0.3, 0.1))
    assert decision.probabilities == pytest.approx((0.2, 0.6, 0.2))
    assert decision.mass == pytest.approx(0.5)
    assert (decision.best, decision.order) == ("b", [1, 0, 2])
    assert decision.margin == pytest.approx(0.4)


def test_the_prior_divides_and_does_not_touch_the_mass():
    decision = decide(["a", "b"], logs(0.3, 0.1), logs(0.9, 0.1))
    assert decision.probabilities == pytest.approx((0.25, 0.75))
    assert decision.best == "b"
    assert decision.mass == pytest.approx(0.4)


def test_a_prior_of_another_length_is_a_mistake():
    with pytest.raises(ValueError, match="zip"):
        decide(["a", "b"], [-1, -1], [-1])


def test_ties_go_to_the_earlier_choice():
    decision = decide(["a", "b", "c"], [-2.0, -1.0, -1.0])
    assert (decision.best, decision.order, decision.margin) == ("b", [1, 2, 0], 0)


def test_a_single_choice_is_certain_and_its_mass_tells_how_sure():
    decision = decide(["a"], logs(0.01))
    assert (decision.probability, decision.margin) == (1, 1)
    assert decision.mass == pytest.approx(0.01)


def test_a_prior_is_the_mean_of_the_probabilities_of_its_rows():
    prior = mean_prior([logs(0.1, 0.3), logs(0.4, 0.1)])
    assert [math.exp(value) for value in prior] == pytest.approx([0.525, 0.475])


def test_sums_do_not_underflow():
    assert log_sum([-1000.0, -1000.0]) == pytest.approx(-1000 + math.log(2))
    assert normalised([-5000.0, -5000.0]) == pytest.approx(logs(0.5, 0.5))
