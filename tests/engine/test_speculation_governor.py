"""Guesses are made where they pay, by the cost of the step, and only there."""

from __future__ import annotations

import pytest

from vedette.engine.curve import CostCurve
from vedette.engine.speculation.acceptance import Acceptance
from vedette.engine.speculation.governor import Governor, Offer
from vedette.engine.speculation.policy import Policy
from vedette.engine.speculation.step_times import StepTimes
from vedette.errors import InputError

FLAT = CostCurve.of({1: 1.0, 2: 1.05, 4: 1.1, 8: 1.2, 16: 1.5, 32: 2.0})
STEEP = CostCurve.of({1: 1.0, 2: 2.0, 32: 32.0})
# Q4_K_M of 1.5B on two cores.
MEASURED = CostCurve.of(
    {1: 26.5, 2: 36.7, 3: 48.4, 4: 59.0, 6: 85.9, 8: 96.9, 12: 120.5, 16: 110.2, 32: 210.0}
)


def offer(rate: float, n: int = 15, cost_s: float = 0.0) -> Offer:
    return Offer("ngram", tuple(Acceptance(rate).expected(n)), cost_s)


def chosen(curve: CostCurve, *offers: Offer, n_others: int = 0) -> int:
    (choice,) = Governor().choose(curve, 1, n_others, [offers])
    return choice.n if choice and not choice.is_probe else 0


def test_nothing_is_guessed_where_a_guess_costs_a_step():
    assert chosen(STEEP, offer(1.0)) == 0
    assert chosen(MEASURED, offer(0.3)) == 0


def test_the_number_of_guesses_is_the_best_of_all():
    def goodput(n: int) -> float:
        return (1 + (Acceptance(0.9).expected(n)[-1] if n else 0)) / MEASURED.seconds(1 + n)

    best = max(range(16), key=goodput)
    assert chosen(MEASURED, offer(0.9)) == best == 15


def test_high_acceptance_does_not_pay_where_the_guesses_are_dear():
    assert chosen(FLAT, offer(0.82, 4)) > 0
    assert chosen(MEASURED, offer(0.82, 4, cost_s=14.7)) == 0


def test_the_better_source_is_taken():
    (choice,) = Governor().choose(FLAT, 1, 0, [[offer(0.5), Offer("draft", (0.9, 1.8, 2.7))]])
    assert choice is not None
    assert choice.offer.source == "draft"


def test_all_sequences_share_the_batch():
    alone = Governor().choose(MEASURED, 1, 0, [[offer(0.95)]])
    together = Governor().choose(MEASURED, 8, 0, [[offer(0.95)]] * 8)
    assert sum(c.n for c in alone if c) == 15
    assert 0 < sum(c.n for c in together if c) < 8 * 15


def test_probes_lose_no_more_than_their_share():
    governor, lost_s, n_probes = Governor(), 0.0, 0
    poor = offer(0.2)
    for _ in range(1000):
        (choice,) = governor.choose(MEASURED, 1, 0, [[poor]])
        if choice is not None:
            assert choice.is_probe
            n_probes += 1
            taken = poor.taken[choice.n - 1]
            lost_s += MEASURED.seconds(1 + choice.n) - (1 + taken) * MEASURED.seconds(1)
    assert n_probes > 10
    assert lost_s <= 0.0101 * 1000 * MEASURED.seconds(1)


def test_acceptance_of_an_answer_begins_with_what_others_taught():
    parent = Acceptance(0.5)
    for _ in range(100):
        parent.add(4, 4)
    fresh = Acceptance(0.5, parent)
    assert fresh.rate(0) > 0.9
    for _ in range(20):
        fresh.add(4, 0)
    assert fresh.rate(0) < 0.3
    assert fresh.rate(1) > 0.9  # behind a wrong guess nothing is learnt


def test_step_times_are_learnt_by_size():
    times = StepTimes()
    assert times.curve() is None
    times.add(64, 1, 0.64)  # a prompt: 10 ms a token
    assert times.curve() is None
    for _ in range(10):
        times.add(1, 1, 0.020)
        times.add(4, 4, 0.030)
    curve = times.curve()
    assert curve is not None
    assert curve.seconds(1) == pytest.approx(0.020)
    assert curve.seconds(4) == pytest.approx(0.030)
    assert curve.seconds(16) == pytest.approx(0.030 + 12 * 0.012, rel=0.01)


def test_a_hiccup_is_not_believed():
    times = StepTimes()
    for seconds in (0.02, 0.02, 0.02, 0.02, 0.02, 5.0):
        times.add(1, 1, seconds)
    curve = times.curve()
    assert curve is not None
    assert curve.seconds(1) < 0.025


def test_a_known_curve_is_scaled_to_the_speed_of_now():
    times = StepTimes(MEASURED)
    times.add(1, 1, 53.0)
    curve = times.curve()
    assert curve is not None
    assert curve.seconds(16) == pytest.approx(220.4)


@pytest.mark.parametrize("text", ["on", "ngram", "ngram:0", "ngram:32", "draft:-1", ""])
def test_a_policy_that_is_none_is_refused(text):
    with pytest.raises(InputError, match="speculate is"):
        Policy.of(text)


@pytest.mark.parametrize("text", ["auto", "off", "ngram:4", "draft:31", "drawn:2"])
def test_a_policy_reads_as_it_is_written(text):
    assert str(Policy.of(text)) == text
