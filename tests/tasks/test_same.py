"""The question to the model about two records."""

from __future__ import annotations

import math

import pytest
from scripted import WordBackend, scores, user_text

from vedette.errors import CapabilityMissing, InputTooLong
from vedette.tasks.same import LEAST_FOR_PRIOR, OTHER, Same, probabilities
from vedette.types import Item


def ask(backend=None, first="cs3 upgrade", second="CS3 升级"):
    steps = Same(what="product").steps(
        Item(id="1", text=first, columns={OTHER: second}), backend or WordBackend()
    )
    asks = next(steps)
    try:
        steps.send([scores(-1.0, -2.0), scores(-3.0, -0.5)])
    except StopIteration as end:
        return asks, end.value
    raise AssertionError("one step is enough")


def test_both_records_are_shown_in_both_orders_and_the_usage_is_of_both():
    asks, answer = ask()
    assert [ask.choices for ask in asks] == [("yes", "no")] * 2
    one, two = map(user_text, asks)
    assert one.index("cs3 upgrade") < one.index("CS3 升级")
    assert two.index("CS3 升级") < two.index("cs3 upgrade")
    assert "product" in asks[0].prompt.messages[0].content
    assert answer.value == [[-1.0, -2.0], [-3.0, -0.5]]
    assert answer.usage.prompt_tokens == 20


def test_the_probability_is_the_mean_of_both_orders():
    (chance,) = probabilities([[[0.0, math.log(3)], [0.0, 0.0]]])
    assert chance == pytest.approx((0.25 + 0.5) / 2)


def test_what_the_model_always_says_is_divided_out_where_there_are_enough_pairs():
    eager = [[-0.1, -3.0], [-0.1, -3.0]]
    surer = [[-0.01, -6.0], [-0.01, -6.0]]
    few = probabilities([eager] * (LEAST_FOR_PRIOR - 2) + [surer])
    many = probabilities([eager] * (LEAST_FOR_PRIOR - 1) + [surer])
    assert all(chance > 0.5 for chance in few)
    assert many[0] < 0.5 < many[-1]


def test_no_pair_is_no_probability():
    assert probabilities([]) == []


def test_what_does_not_fit_or_cannot_be_scored_is_refused():
    with pytest.raises(InputTooLong):
        ask(first="word " * 5000)
    with pytest.raises(CapabilityMissing):
        ask(WordBackend(can_score=False))
