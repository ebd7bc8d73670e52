"""The verdict: on where it pays, off with the reason where not, and what would flip it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from spec_models import draft, model, question

from vedette.engine.curve import CostCurve
from vedette.errors import InputError
from vedette.spec.candidates import Evaluator
from vedette.spec.hardware import Cpu
from vedette.spec.machine import Measured
from vedette.spec.memory import Setup
from vedette.spec.parameters import parameters
from vedette.spec.plan import make_plan

HEAD = 260_000_000
SLOW = CostCurve.of({n: 0.02 * n for n in (1, 2, 4, 8, 16)})
FLAT = CostCurve.of({1: 0.02, 16: 0.021})


def measured(curve: CostCurve, draft_s: float) -> Measured:
    guesser = CostCurve.of({1: draft_s, 16: draft_s})
    return Measured(where="measured in a test", target=curve, draft=guesser)


def test_a_head_pays_on_a_large_gpu():
    plan = make_plan(question(model(head_bytes=HEAD), gpu="RTX 4090"))
    assert plan.verdict.speculate
    assert plan.verdict.method == plan.chosen.method == "draft-mtp"
    assert plan.chosen.gpu_layers == 65
    assert plan.chosen.speedup.likely > 1.5
    assert any(
        flip.startswith("draft-mtp no longer pays if a guess") for flip in plan.verdict.flips
    )


def test_a_head_pays_on_a_laptop_of_8_gb_where_large_drafts_do_not():
    laptop = "RTX 4060 Laptop"
    with_head = make_plan(question(model(head_bytes=HEAD), gpu=laptop, acceptance=0.9))
    assert with_head.verdict.speculate
    large = draft("9b", billions=9.0, layers=36, gb=5.7, output_bytes=500_000_000)
    without = make_plan(question(model(), large, gpu=laptop))
    assert not without.verdict.speculate
    assert without.chosen.method == "none"


def test_a_draft_on_the_gpu_moves_layers_off_it():
    asked = question(model(), draft(gb=3.0), gpu="RTX 4060 Laptop")
    evaluator = Evaluator(asked, parameters())
    plain = evaluator.plain()
    on_gpu = evaluator.candidate("draft-simple", 2, plain, draft_on_gpu=True)
    beside = evaluator.candidate("draft-simple", 2, plain, draft_on_gpu=False)
    assert on_gpu is not None
    assert beside is not None
    assert beside.gpu_layers == plain.gpu_layers > on_gpu.gpu_layers
    assert on_gpu.costs.plain_s() > plain.costs.plain_s() == beside.costs.plain_s()
    assert on_gpu.costs.draft_s < beside.costs.draft_s


def test_off_where_checking_costs_as_much_as_decoding_whatever_is_accepted():
    asked = question(model(), draft(), gpu=None, measured=measured(SLOW, 0.01), acceptance=0.9)
    verdict = make_plan(asked).verdict
    assert not verdict.speculate
    assert verdict.is_sure
    assert verdict.binding == "checking"
    assert verdict.told == "draft-simple"
    assert verdict.flips == (
        "draft-simple pays at no acceptance, not even if all guesses were right",
        "ngram-simple pays at no share of copies: checking costs too much here",
    )


def test_on_where_checking_is_nearly_free():
    asked = question(model(), draft(), gpu=None, measured=measured(FLAT, 0.001), acceptance=0.9)
    plan = make_plan(asked)
    assert plan.verdict.speculate
    assert plan.chosen.k > 4
    assert plan.chosen.tokens_per_s.likely == pytest.approx(50 * plan.chosen.speedup.likely)


def test_the_acceptance_at_which_it_flips_does_flip_it():
    asked = question(model(), draft(), gpu=None, measured=measured(FLAT, 0.015), acceptance=0.3)
    verdict = make_plan(asked).verdict
    assert not verdict.speculate
    (flip,) = [flip for flip in verdict.flips if flip.startswith("draft-simple pays if")]
    percent = int(flip.split()[-1].removesuffix("%"))
    assert make_plan(replace(asked, acceptance=percent / 100 + 0.01)).verdict.speculate
    assert not make_plan(replace(asked, acceptance=percent / 100 - 0.01)).verdict.speculate


def test_memory_that_would_flip_it_is_named_and_does():
    guesser = draft("4b", billions=4.0, layers=36, gb=2.7, output_bytes=300_000_000)
    # So few cores that whatever lies on the CPU makes guessing useless.
    asked = question(
        model(), guesser, gpu="RTX 4090", vram="12GB", cpu=Cpu(name="", bytes_per_s=57e9, cores=2)
    )
    verdict = make_plan(asked).verdict
    assert not verdict.speculate
    (flip,) = [flip for flip in verdict.flips if "GPU memory" in flip]
    more = int(float(flip.split()[3]) * 1e9)
    gpu = asked.machine.gpu
    assert gpu is not None
    larger = replace(gpu, memory_bytes=(gpu.memory_bytes or 0) + more + 300_000_000)
    grown = replace(asked, machine=replace(asked.machine, gpu=larger))
    assert make_plan(grown).verdict.speculate


def test_copies_decide_about_n_grams():
    nothing = make_plan(question(model(), gpu="RTX 4090", copied=0.0))
    much = make_plan(question(model(), gpu="RTX 4090", copied=0.6))
    assert not nothing.verdict.speculate
    assert much.verdict.method == "ngram-simple"
    assert nothing.verdict.binding == "copies"
    assert nothing.verdict.flips[0].startswith("ngram-simple pays if more than")


def test_every_interval_holds_its_likely_value():
    plan = make_plan(question(model(head_bytes=HEAD), draft(), copied=0.2))
    assert len(plan.candidates) == 3
    for each in (plan.plain, *plan.candidates):
        for values in (each.tokens_per_s, each.speedup):
            assert values.low <= values.likely <= values.high


def test_the_fastest_comes_first_and_the_parts_fit():
    asked = question(model(head_bytes=HEAD), draft(), gpu="RTX 5060 Ti", copied=0.2)
    plan = make_plan(asked)
    speeds = [each.tokens_per_s.likely for each in plan.candidates]
    assert speeds == sorted(speeds, reverse=True)
    for each in (plan.plain, *plan.candidates):
        assert each.gpu_bytes <= asked.machine.gpu_room_bytes


@pytest.mark.parametrize(
    ("guesser", "reason"),
    [
        (draft(tokenizer="llama"), "tokenizer is llama"),
        (draft(vocab_tokens=32_000), "more than 128 apart"),
        (None, "no draft model was given"),
    ],
)
def test_a_draft_that_cannot_be_used_is_refused_with_the_reason(guesser, reason):
    plan = make_plan(question(model(), guesser))
    refusals = {each.method: each.reason for each in plan.refusals}
    assert reason in refusals["draft-simple"]
    assert "no prediction head" in refusals["draft-mtp"]


def test_a_method_that_the_build_lacks_is_refused():
    plan = make_plan(
        question(model(head_bytes=HEAD), copied=0.5), unsupported={"ngram-simple": "too old"}
    )
    assert [each.reason for each in plan.refusals if each.method == "ngram-simple"] == ["too old"]


def test_sequences_at_once_leave_less_to_gain():
    def gain(sequences: int) -> float:
        setup = Setup(context_tokens=1024, sequences=sequences)
        asked = question(model(head_bytes=HEAD), gpu="RTX 5090", setup=setup)
        return next(
            c for c in make_plan(asked).candidates if c.method == "draft-mtp"
        ).speedup.likely

    assert gain(1) > gain(4) > gain(16)


def test_a_target_that_no_memory_holds_is_an_error():
    with pytest.raises(InputError, match=r"needs 1[67].* GB of the machine's memory"):
        make_plan(question(model(), gpu=None, memory_bytes=8 << 30))


def test_a_projector_takes_its_place_or_is_refused():
    asked = question(model(), gpu="RTX 4090", projector_bytes=1 << 30)
    without = replace(asked, projector_bytes=0)
    assert make_plan(asked).plain.gpu_bytes > make_plan(without).plain.gpu_bytes
    with pytest.raises(InputError, match="the projector does not fit"):
        make_plan(replace(asked, projector_bytes=40 << 30))


@pytest.mark.parametrize("wrong", [{"acceptance": 1.2}, {"copied": -0.1}, {"longest": 0}])
def test_shares_and_lengths_without_sense_are_refused(wrong):
    with pytest.raises(InputError):
        make_plan(question(model(), **wrong))
