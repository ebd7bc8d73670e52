"""From timings to sentences."""

from __future__ import annotations

import pytest

from vedette.doctor.timings import Measurement, Pace, fitting_prompt_tokens
from vedette.doctor.verdict import (
    break_even,
    fastest_width,
    items_per_s,
    judge,
    rounded,
    two_token_cost,
)

WIDTHS = (1, 2, 4, 8, 16)


def pace(tokens: int, step_ms: float, spread: float = 0.0, repeats: int = 4) -> Pace:
    return Pace(
        tokens=tokens,
        step_ms=step_ms,
        tokens_per_s=1000 * tokens / step_ms,
        spread=spread,
        repeats=repeats,
    )


def decoding(*steps_ms: float) -> tuple[Pace, ...]:
    return tuple(pace(width, ms) for width, ms in zip(WIDTHS, steps_ms, strict=False))


def measured(*steps_ms: float, prefill: Pace | None = None) -> Measurement:
    return Measurement(
        description="m",
        threads=2,
        load_s=1.0,
        prompt_tokens=100,
        prefill=prefill or pace(100, 200),
        decode=decoding(*steps_ms),
    )


def test_a_pace_is_the_median_with_the_distance_of_the_extremes():
    found = Pace.of(4, [10.0, 20.0, 40.0])
    assert found == Pace(tokens=4, step_ms=20, tokens_per_s=200, spread=1.5, repeats=3)
    assert Pace.of(1, [5.0]).spread == 0


def test_items_wait_for_reading_and_answering():
    # 45 tokens at 450/s and 30 at 100/s: 0.1 + 0.3 s
    assert items_per_s(pace(45, 100), 100, 45, 30) == pytest.approx(2.5)
    assert items_per_s(pace(50, 100), 100, 50, 0) == pytest.approx(10)


@pytest.mark.parametrize(
    ("steps_ms", "width"),
    [
        ((10, 10, 10, 10, 10), 16),
        ((10, 20, 40, 80, 160), 1),
        ((10, 15, 20, 40, 80), 4),
        ((10, 15, 20, 40, 78), 4),  # 2.5% more is not faster
        ((10, 15, 20, 40, 120), 4),
        ((10,), 1),
    ],
)
def test_the_fastest_width_is_the_narrowest_that_is_about_as_fast(steps_ms, width):
    assert fastest_width(decoding(*steps_ms)) == width


def test_speculation_is_judged_by_the_cost_of_a_second_token():
    assert two_token_cost(decoding(20, 26)) == pytest.approx(1.3)
    assert break_even(1.3) == pytest.approx(0.4)
    assert break_even(0.8) == 0
    assert two_token_cost(decoding(20)) is None


@pytest.mark.parametrize(
    ("rate", "text"),
    [(4.449, "4.4"), (18.3, "18"), (123.4, "120"), (0.0526, "0.053"), (1909, "1900")],
)
def test_a_rate_has_two_digits(rate, text):
    assert rounded(rate) == text


@pytest.mark.parametrize(
    ("warm_ms", "visit_ms", "tokens"),
    [(10, 9, 16), (10, 20, 32), (10, 100, 128), (1, 10_000, 256), (500, 10, 16)],
)
def test_the_prompt_is_as_long_as_a_visit_has_time_for(warm_ms, visit_ms, tokens):
    assert fitting_prompt_tokens(16, warm_ms, visit_ms, 256) == tokens


def test_a_prompt_is_never_longer_than_a_batch():
    assert fitting_prompt_tokens(16, 1, 10_000, 100) == 64


def test_the_verdict_counts_only_widths_that_the_engine_uses():
    timings = measured(10, 10, 10, 10, 10)
    wide, narrow = (judge(timings, width=width, widths=WIDTHS) for width in (16, 1))
    # prefill 500/s; decode 1600/s or 100/s
    assert wide.lines_per_s == pytest.approx(1 / (45 / 500 + 30 / 1600))
    assert narrow.lines_per_s == pytest.approx(1 / (45 / 500 + 30 / 100))
    assert wide.texts_per_s == narrow.texts_per_s == pytest.approx(10)


@pytest.mark.parametrize(
    ("steps_ms", "said"),
    [
        ((10, 10, 10, 10, 10), "still gets faster at 16 sequences at once: 16 times one"),
        ((10, 15, 20, 40, 80), "stops getting faster at 4 sequences at once: 2 times one"),
        ((10, 15, 20, 40, 120), "fastest at 4 sequences at once (2 times one sequence) and slower"),
        ((10, 20, 40, 80, 160), "several sequences at once is no faster than one"),
        ((10, 12, 20, 40, 80), "could pay for a single stream: two tokens in a step cost 1.20"),
        ((10, 12, 20, 40, 80), "at least 30% of the guesses"),
        ((10, 17, 20, 40, 80), "pays only on very predictable text"),
        ((10, 20, 20, 40, 80), "does not pay with one guess a step"),
        ((10, 15), "too short to measure 4, 8, 16 sequences"),
    ],
)
def test_the_verdict_says_what_the_timings_mean(steps_ms, said):
    verdict = judge(measured(*steps_ms), width=16, widths=WIDTHS)
    assert said in " ".join(verdict.sentences)


def test_the_width_is_not_judged_while_wider_ones_are_unmeasured():
    verdict = judge(measured(10, 15), width=16, widths=WIDTHS)
    assert "ecoding" not in " ".join(verdict.sentences)


def test_timings_that_varied_are_said_to_be_a_busy_machines():
    quiet = judge(measured(10, 15, 20, 40, 80), width=16, widths=WIDTHS)
    busy = judge(
        measured(10, 15, 20, 40, 80, prefill=pace(100, 200, spread=0.4)), width=16, widths=WIDTHS
    )
    assert "varied" not in " ".join(quiet.sentences)
    assert busy.sentences[-1].startswith("Timings varied by up to 40%")


def test_a_single_repeat_is_admitted():
    once = measured(10, 15, 20, 40, 80, prefill=pace(100, 200, repeats=1))
    assert "only once" in judge(once, width=16, widths=WIDTHS).sentences[-1]
