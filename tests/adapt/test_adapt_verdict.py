"""Better means more right answers on the same rows."""

from __future__ import annotations

import pytest

from vedette.adapt.subjects import Marks
from vedette.adapt.verdict import Verdict


def verdict(before: str, after: str) -> Verdict:
    return Verdict(*(Marks(tuple(c == "1" for c in text), 0) for text in (before, after)))


def test_answers_are_paired():
    found = verdict("1100", "1011")
    assert (found.gained, found.lost, found.is_better) == (2, 1, True)
    assert "2 gained, 1 lost" in found.sentence
    assert "right before 2 of 4 (50.0%), after 3 (75.0%)" in found.sentence


@pytest.mark.parametrize(("before", "after"), [("11", "11"), ("10", "01"), ("11", "10")])
def test_as_good_is_not_better(before, after):
    assert not verdict(before, after).is_better


def test_a_gain_that_chance_explains_is_told():
    assert verdict("0" * 5, "1" * 5).chance == 1 / 32
    assert "chance" not in verdict("0" * 5, "1" * 5).sentence
    assert verdict("0" * 3 + "1", "1" * 3 + "0").chance == 5 / 16
    assert "once in 3 times" in verdict("0" * 3 + "1", "1" * 3 + "0").sentence
    assert verdict("01", "01").chance == 1.0
