"""Guesses are made where they pay, by the cost of the step, and only there."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from vedette.engine.curve import CostCurve
from vedette.engine.speculation.acceptance import Acceptance
from vedette.engine.speculation.account import ANSWER_MOST, ANSWER_START, SHARE, Account
from vedette.engine.speculation.governor import PROBE_SHARE, Governor, Offer
from vedette.engine.speculation.policy import Policy
from vedette.engine.speculation.step_times import OLD_STEPS, StepTimes
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
    assert n_probes > 2
    assert lost_s <= (PROBE_SHARE + 0.0001) * 1000 * MEASURED.seconds(1)


def test_no_more_is_staked_than_may_be_lost():
    free, poor = replace(offer(0.99), stake_s=math.inf), replace(offer(0.99), stake_s=50.0)
    assert chosen(MEASURED, free) == 15
    assert chosen(MEASURED, poor) == 4  # 72.5 - 26.5 is the most below 50
    assert chosen(MEASURED, replace(offer(0.99), stake_s=5.0)) == 0


def test_what_is_never_right_though_it_promises_is_given_up_early():
    governor, account, lost = Governor(), Account.of_answer(), 0.0
    one_s = MEASURED.seconds(1)
    for _ in range(400):
        account.add(SHARE)
        sure = replace(offer(0.95), stake_s=account.balance * one_s)
        (choice,) = governor.choose(MEASURED, 1, 0, [[sure]])
        if choice is not None:
            steps = (MEASURED.seconds(1 + choice.n) - one_s) / one_s
            account.add(-steps)
            lost += steps
    assert 0 < lost <= ANSWER_START + 400 * SHARE


def test_old_gains_are_not_lost_again():
    account = Account.of_answer()
    account.add(1000)
    assert account.balance == ANSWER_MOST


def test_what_is_known_without_asking_is_not_tried_to_learn():
    known = replace(offer(0.2), must_ask=False)
    governor = Governor()
    assert all(governor.choose(MEASURED, 1, 0, [[known]]) == [None] for _ in range(1000))


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
        times.add(1, 1, 0.050)
        times.add(4, 4, 0.100)
    curve = times.curve()
    assert curve is not None
    assert curve.seconds(1) == pytest.approx(0.050)
    assert curve.seconds(4) == pytest.approx(0.100)
    # Not seen yet: twice a prompt's token each up to 8, then 1.2 times.
    assert curve.seconds(8) == pytest.approx(0.050 + 7 * 0.020)
    assert curve.seconds(16) == pytest.approx(0.190 + 8 * 0.012)


def test_a_hiccup_is_not_believed():
    times = StepTimes()
    for seconds in (0.02, 0.02, 0.02, 5.0, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02):
        times.add(1, 1, seconds)
    curve = times.curve()
    assert curve is not None
    assert curve.seconds(1) < 0.021


def test_sizes_seen_while_the_machine_was_slow_compare_with_those_seen_before():
    times = StepTimes()
    for _ in range(20):
        times.add(1, 1, 0.020)
        times.add(4, 4, 0.040)
    for _ in range(20):  # everything takes three times as long
        times.add(1, 1, 0.060)
    for _ in range(20):
        times.add(8, 8, 0.180)
    curve = times.curve()
    assert curve is not None
    assert curve.relative(4) == pytest.approx(2.0, rel=0.01)
    assert curve.relative(8) == pytest.approx(3.0, rel=0.01)
    for _ in range(20):  # and again as fast as before: one size tells it for all
        times.add(1, 1, 0.020)
    curve = times.curve()
    assert curve is not None
    assert curve.seconds(8) == pytest.approx(0.060, rel=0.02)


def test_a_size_is_old_when_others_were_measured_for_long():
    times = StepTimes()
    times.add(1, 1, 0.02)
    assert not times.is_old(1)
    for _ in range(OLD_STEPS):
        times.add(8, 8, 0.05)
    assert times.is_old(1)
    assert not times.is_old(8)


def test_a_known_curve_is_scaled_to_the_speed_of_now():
    times = StepTimes(MEASURED)
    assert times.now_s == MEASURED.seconds(1)
    for _ in range(30):
        times.add(1, 1, 53.0)
    curve = times.curve()
    assert curve is not None
    assert curve.seconds(16) == pytest.approx(220.4, rel=0.001)


@pytest.mark.parametrize("text", ["on", "ngram", "ngram:0", "ngram:32", "draft:-1", ""])
def test_a_policy_that_is_none_is_refused(text):
    with pytest.raises(InputError, match="speculate is"):
        Policy.of(text)


@pytest.mark.parametrize("text", ["auto", "off", "ngram:4", "draft:31", "drawn:2"])
def test_a_policy_reads_as_it_is_written(text):
    assert str(Policy.of(text)) == text
