"""The arithmetic of a report, on answers where the right numbers can be counted by hand."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.backends.server_process import ServerOptions
from vedette.bench.compare import accuracy, agreement, ratios, spread, valid_share
from vedette.bench.contest import Contest, Plan
from vedette.bench.report import Judge
from vedette.bench.runs import Reply, Run
from vedette.bench.served import Served
from vedette.errors import InputError
from vedette.types import Item, Usage

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
VALIDATOR = jsonschema_rs.validator_for(SCHEMA)
ITEMS = [Item(id=str(n), text="x") for n in range(1, 5)]


def replies(*values: object) -> list[Reply]:
    return [Reply(error="failed") if value is ... else Reply(value=value) for value in values]


def run(wall_s: float, *values: object, side: str = "a") -> Run:
    return Run(
        side=side,
        wall_s=wall_s,
        own_cpu_s=wall_s / 4,
        others_cpu_s=wall_s / 10,
        replies=tuple(replies(*values)),
    )


def test_an_answer_is_valid_if_it_is_there_and_fits_the_schema():
    share = valid_share(replies({"n": 1}, {"n": "1"}, {}, ...), VALIDATOR)
    assert share == 0.25


def test_agreement_counts_fields_and_whole_answers_that_both_gave():
    ours = replies({"a": 1, "b": 2}, {"a": 1, "b": 2}, {"a": 1, "b": 2}, ...)
    theirs = replies({"a": 1, "b": 2}, {"a": 1, "b": 3}, ..., {"a": 1, "b": 2})
    shares = agreement(ours, theirs)
    assert shares is not None
    assert (shares.rows, shares.whole, shares.fields) == (2, 0.5, {"a": 1.0, "b": 0.5})


def test_sides_that_never_both_answer_neither_agree_nor_differ():
    assert agreement(replies(..., 1), replies(1, ...)) is None


def test_a_missing_answer_and_a_missing_field_are_wrong():
    expected = {item.id: {"a": None, "b": "x"} for item in ITEMS}
    given_ = replies({"a": None, "b": "x"}, {"b": "x"}, ..., {"a": None, "b": "y"})
    shares = accuracy(ITEMS, given_, expected)
    assert shares is not None
    assert (shares.rows, shares.whole, shares.fields) == (4, 0.25, {"a": 0.5, "b": 0.5})


def test_items_of_which_nothing_is_expected_do_not_count():
    shares = accuracy(ITEMS, replies(1, 2, 3, 4), {"2": 2, "4": 5, "99": 1})
    assert shares is not None
    assert (shares.rows, shares.whole, shares.fields) == (2, 0.5, {"value": 0.5})
    assert accuracy(ITEMS, replies(1, 2, 3, 4), {}) is None


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (1, 1.0, True),
        (True, 1, False),
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, True),
        ({"a": [1, {"b": False}]}, {"a": [1, {"b": 0}]}, False),
        ([1, 2], [2, 1], False),
        ([1], [1, 2], False),
        ("1", 1, False),
        (None, "", False),
    ],
)
def test_values_are_the_same_as_json_says(left, right, same):
    shares = agreement(replies({"f": left}), replies({"f": right}))
    assert shares is not None
    assert shares.fields == {"f": float(same)}
    assert shares.whole == float(same)


@given(st.lists(st.floats(0.1, 1e6), min_size=1))
def test_a_spread_has_its_median_between_its_ends(values):
    found = spread(values)
    assert found.min == min(values)
    assert found.max == max(values)
    assert found.min <= found.median <= found.max


def test_ratios_are_taken_turn_by_turn():
    found = ratios([4.0, 2.0, 3.0], [2.0, 2.0, 1.0])
    assert (found.min, found.median, found.max) == (1.0, 2.0, 3.0)


def test_a_side_is_reported_over_all_repeats_and_judged_by_its_first():
    runs = [run(2.0, {"n": 1}, {"n": 2}, ..., {"n": "4"}), run(1.0, 1, 2, 3, 4)]
    side = Judge(validator=VALIDATOR, expected={"1": {"n": 1}}).side(runs, ITEMS)
    assert (side.items_per_s.min, side.items_per_s.median, side.items_per_s.max) == (2, 3, 4)
    assert (side.errors, side.reasons, side.valid) == (1, ("failed",), 0.5)
    assert side.accuracy is not None
    assert side.accuracy.rows == 1
    assert side.own_cpu_share == 0.25
    assert side.others_cpu_share == pytest.approx(0.1 / (os.cpu_count() or 1))


def test_a_runs_tokens_are_those_of_all_its_replies():
    usage = Usage(prompt_tokens=10, cached_tokens=4, forced_tokens=2, sampled_tokens=3)
    total = replace(run(1.0), replies=(Reply(usage=usage),) * 3).usage
    assert (total.prompt_tokens, total.cached_tokens, total.completion_tokens) == (30, 12, 15)


def peer(n_slots: int) -> Served:
    options = ServerOptions(threads=1, n_slots=n_slots)
    return Served(program=Path("p"), model=Path("m"), options=options)


def test_the_peer_is_taken_at_its_best_median():
    slow, fast, uneven = (run(2.0, 1),) * 2, (run(1.0, 1),) * 2, (run(0.5, 1), run(9.0, 1))
    contest = Contest(ours=slow, peers={peer(1): slow, peer(4): fast}, calibration={})
    assert (contest.best, contest.theirs) == (peer(4), fast)
    contest = Contest(ours=slow, peers={peer(8): uneven, peer(4): fast}, calibration={})
    assert contest.best == peer(8)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"repeat": 0}, "--repeat is 0"),
        ({"calibration_items": 0}, "--calibration is 0"),
        ({"slots": ()}, "--np is empty"),
        ({"slots": (4, 0)}, "--np is 4,0"),
        ({"slots": (4, 4)}, "--np is 4,4"),
    ],
)
def test_a_plan_of_nothing_is_refused(options, said):
    with pytest.raises(InputError, match=said):
        Plan(**options)
