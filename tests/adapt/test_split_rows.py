"""The same text is never on two sides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.adapt.split import LEAST_TEXTS, split_rows
from vedette.errors import InputError

TEXTS = st.lists(st.integers(0, 60).map(str), min_size=40, max_size=200).filter(
    lambda texts: len(set(texts)) >= LEAST_TEXTS
)


@given(TEXTS, st.floats(0.05, 0.6))
def test_each_row_is_in_one_part_and_each_text_on_one_side(texts, hold_back):
    split = split_rows(texts, hold_back)
    parts = (split.training, split.validation, split.held_back)
    assert sorted(number for part in parts for number in part) == [*range(len(texts))]
    sides = [{texts[number] for number in part} for part in parts]
    assert sum(map(len, sides)) == len(set(texts))
    assert len(split.held_back) >= hold_back * len(texts)


def test_of_600_rows_a_fifth_is_held_back_and_a_tenth_of_the_rest_chooses():
    split = split_rows([f"line {i}" for i in range(600)], 0.2)
    sizes = [len(part) for part in (split.training, split.validation, split.held_back)]
    assert sizes == [432, 48, 120]
    assert split.held_back == tuple(range(120))


@pytest.mark.parametrize("hold_back", [0.0, 1.0, -0.1, float("nan")])
def test_a_share_that_is_none_is_refused(hold_back):
    with pytest.raises(InputError, match="between 0 and 1"):
        split_rows([str(i) for i in range(50)], hold_back)


def test_too_few_texts_are_refused():
    with pytest.raises(InputError, match="there are 19 different texts"):
        split_rows([str(i % 19) for i in range(500)], 0.2)
    with pytest.raises(InputError, match="no row to train on"):
        split_rows([str(i) for i in range(20)], 0.99)
