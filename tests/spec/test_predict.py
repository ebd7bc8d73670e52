"""The arithmetic of guessing: by hand, at its limits, and on measured curves."""

from __future__ import annotations

import pytest
from spec_models import draft, model

from vedette.engine.curve import CostCurve
from vedette.spec.hardware import Cpu, describe_gpu
from vedette.spec.layout import Speeds
from vedette.spec.parameters import parameters
from vedette.spec.predict import (
    Costs,
    catch_up_s,
    constant_acceptance,
    copying_speedup,
    draft_acceptance,
    expected_tokens,
    tokens_by_share,
)
from vedette.spec.speed import Load, ModelledStep, Reader

# T(n) of a 1.5B on two cores, ms: 4 tokens cost less than 3 after requantising.
CURVE = CostCurve.of({1: 0.0255, 2: 0.0380, 3: 0.0512, 4: 0.0370, 6: 0.0648, 8: 0.0603})


def test_expected_tokens_by_hand():
    assert expected_tokens([]) == 1
    assert expected_tokens([0.5, 0.5]) == pytest.approx(1.75)
    assert expected_tokens([0.9, 0.0, 1.0]) == pytest.approx(1.9)
    assert expected_tokens([1.0] * 7) == 8


def test_the_closed_form_of_a_constant_acceptance():
    a, k = 0.8, 5
    assert expected_tokens([a] * k) == pytest.approx((1 - a ** (k + 1)) / (1 - a))


@pytest.mark.parametrize(("k", "share"), [(2, 0.75), (4, 0.55), (16, 0.343)])
def test_a_reported_share_becomes_a_constant_chance_and_back(k: int, share: float):
    chance = constant_acceptance(k, share)
    assert expected_tokens([chance] * k) == pytest.approx(tokens_by_share(k, share), abs=1e-6)


def test_the_step_is_what_checking_guessing_and_the_rest_cost():
    costs = Costs(target=CURVE, draft_s=0.0147, overhead_s=0.001)
    assert costs.step_s(0) == costs.plain_s() == 0.0255
    assert costs.step_s(3) == pytest.approx(0.0370 + 3 * 0.0147 + 0.001)
    assert costs.speedup(3, 3.0) == pytest.approx(3 * 0.0255 / costs.step_s(3))


def test_a_draft_whose_guesses_were_all_right_has_two_tokens_to_read():
    costs = Costs(target=CURVE, draft_s=0.0147, catch_up_s=0.01, overhead_s=0.0)
    assert costs.step_s(2, 0.5) == pytest.approx(costs.step_s(2) + 0.5 * 0.01)
    assert costs.speedup(2, 2.5, 0.5) == pytest.approx(2.5 * 0.0255 / costs.step_s(2, 0.5))


@pytest.mark.parametrize(("two_s", "more_s"), [(0.011, 0.001), (0.025, 0.01), (0.009, 0.0)])
def test_two_tokens_are_read_in_one_step_or_in_two_as_is_faster(two_s: float, more_s: float):
    assert catch_up_s(CostCurve.of({1: 0.01, 2: two_s})) == pytest.approx(more_s)


def test_a_cliff_of_the_curve_makes_a_longer_draft_faster():
    costs = Costs(target=CURVE, draft_s=0.0, overhead_s=0.0)
    gains = {k: costs.speedup(k, expected_tokens([0.9] * k)) for k in (2, 3)}
    assert costs.step_s(3) < costs.step_s(2)  # three tokens cost more than four
    assert gains[3] > gains[2]


def test_the_published_loss_of_two_cores():
    """82% accepted, and slower all the same: 4 guesses of a draft at 14.7 ms."""
    curve = CostCurve.of({1: 0.0265, 2: 0.0367, 3: 0.0484, 4: 0.059, 6: 0.0859})
    costs = Costs(target=curve, draft_s=0.0147, overhead_s=0.0)
    assert costs.speedup(4, tokens_by_share(4, 0.82)) < 1


def test_several_sequences_are_checked_together():
    one = Costs(target=CURVE, draft_s=0.0, overhead_s=0.0)
    two = Costs(target=CURVE, draft_s=0.0, overhead_s=0.0, sequences=2)
    assert two.plain_s() == CURVE.seconds(2)
    assert two.step_s(1) == CURVE.seconds(4) == one.step_s(3)


def test_copies_pay_by_their_share_only():
    costs = Costs(target=CURVE, draft_s=0.0, overhead_s=0.0)
    assert copying_speedup(costs, 7, copied=0.0, acceptance=0.95) == pytest.approx(1)
    half = copying_speedup(costs, 7, copied=0.5, acceptance=0.95)
    whole = copying_speedup(costs, 7, copied=1.0, acceptance=0.95)
    assert 1 < half < 2 < whole == pytest.approx(costs.speedup(7, expected_tokens([0.95] * 7)))


def test_a_smaller_draft_guesses_worse():
    fit = parameters().fit
    chances = [
        draft_acceptance(fit, target_parameters=27e9, draft_parameters=size)
        for size in (0.8e9, 4e9, 27e9, 70e9)
    ]
    assert chances == sorted(chances)
    assert chances[2] == chances[3] == 0.97


def test_a_mixture_reads_the_experts_that_some_token_chose():
    reader = Reader(bytes_per_s=1e9, slope=0.0)
    step = ModelledStep(
        loads=(Load(reader=reader, dense_bytes=0, expert_bytes=128e9),), experts_share=8 / 128
    )
    ratios = [step.seconds(n) / step.seconds(1) for n in (2, 3, 4, 8)]
    assert ratios == pytest.approx([1.94, 2.82, 3.64, 6.45], abs=0.01)


def test_few_cores_check_n_tokens_in_n_times_the_time():
    numbers = parameters()
    cpu = Cpu(name="", bytes_per_s=40e9, cores=2)
    speeds = Speeds(gpu=None, cpu=cpu, fit=numbers.fit, efficiency=numbers.efficiency)
    step = speeds.target(draft(), 0)
    assert step.seconds(4) == pytest.approx(4 * step.seconds(1))


def test_a_layer_on_the_cpu_costs_its_bytes_there():
    numbers = parameters()
    speeds = Speeds(
        gpu=describe_gpu("RTX 4090"),
        cpu=Cpu(name="", bytes_per_s=50e9, cores=8),
        fit=numbers.fit,
        efficiency=numbers.efficiency,
    )
    target = model()
    more = speeds.target(target, 40).seconds(1) - speeds.target(target, 41).seconds(1)
    layer = target.layers[0].total_bytes
    here, there = 50e9 * numbers.efficiency.cpu, 1008e9 * numbers.efficiency.gpu
    by_hand = layer / here - layer / there - numbers.efficiency.gpu_layer_s
    assert more == pytest.approx(by_hand)
