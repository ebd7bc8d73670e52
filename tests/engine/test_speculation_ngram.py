"""Guesses from what was written before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vedette.engine.speculation.ngram_index import (
    LEAST_MATCH,
    MOST_MATCH,
    NEWEST,
    Found,
    NgramIndex,
    continuation,
)


def by_hand(tokens: list[int]) -> Found | None:
    """The same by looking at all places."""
    places = [
        at for at in range(LEAST_MATCH, len(tokens)) if tokens[at - 2 : at] == tokens[-LEAST_MATCH:]
    ]
    best = None
    for at in places[-NEWEST:]:
        n = LEAST_MATCH
        while n < min(MOST_MATCH, at) and tokens[at - n - 1] == tokens[-n - 1]:
            n += 1
        if best is None or n >= best.n_match:
            best = Found(at, n)
    return best


@given(st.lists(st.integers(0, 3), max_size=60), st.integers(1, 5))
def test_the_longest_of_the_latest_matches_is_found_while_the_text_grows(tokens, pace):
    index = NgramIndex()
    for end in range(0, len(tokens) + 1, pace):
        assert index.find(tokens[:end]) == by_hand(tokens[:end])


def test_a_text_that_was_taken_back_is_read_anew():
    index = NgramIndex()
    index.find([1, 2, 3, 1, 2])
    assert index.find([1, 2, 9]) is None
    assert index.find([1, 2, 9, 1, 2]) == Found(2, 2)


def test_a_repetition_goes_on_with_itself():
    assert continuation([5, 1, 2, 1, 2], 3, 5) == [1, 2, 1, 2, 1]
